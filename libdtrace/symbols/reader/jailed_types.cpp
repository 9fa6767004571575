// SPDX-License-Identifier: MIT
#include "libdtrace/symbols/reader/jailed_types.hpp"

#include "libdtrace/symbols/reader/protocol.hpp"

#include <utility>

namespace dt {

Result<std::unique_ptr<DebugTypes>>
JailedTypes::open(SymbolReader& reader, std::shared_ptr<const ElfSource> source)
{
    auto file = std::make_unique<JailedFile>(reader.slot_for_types(), std::move(source),
                                             reader.next_number());
    if (auto opened = file->open(); !opened)
        return opened.error();
    if (auto opened = file->call(reader_open_types); !opened)
        return opened.error();
    file->forbid_reopening();
    return std::unique_ptr<DebugTypes>(new JailedTypes(std::move(file)));
}

template <class Read>
void JailedTypes::request(ReaderWord word, const MessageWriter& arguments, Read read)
{
    auto reply = file_->call(word, arguments);
    if (!reply)
        return;
    MessageReader in(reply->body);
    if (!read(in) || !in.ok())
        file_->reject_reply();
}

std::optional<DebugRef> JailedTypes::find(Kind kind, std::string_view name)
{
    const auto [at, is_new] = found_.try_emplace({kind, std::string(name)});
    if (is_new) {
        MessageWriter arguments;
        arguments.put(static_cast<std::uint8_t>(kind)).text(name);
        request(reader_find_type, arguments,
                [&, &into = at->second](MessageReader& in) {
                    return read_optional(in, into);
                });
    }
    return at->second;
}

std::optional<DebugVariable> JailedTypes::find_variable(std::string_view name)
{
    std::optional<DebugVariable> found;
    MessageWriter arguments;
    arguments.text(name);
    request(reader_find_type_variable, arguments, [&](MessageReader& in) {
        if (in.get<std::uint8_t>() == 0)
            return true;
        DebugVariable variable;
        variable.type = in.get<DebugRef>();
        variable.per_cpu = in.get<std::uint8_t>() != 0;
        if (!read_optional(in, variable.addr))
            return false;
        found = variable;
        return true;
    });
    return found;
}

std::optional<std::int64_t> JailedTypes::find_enumerator(std::string_view name)
{
    std::optional<std::int64_t> found;
    MessageWriter arguments;
    arguments.text(name);
    request(reader_find_enumerator, arguments,
            [&](MessageReader& in) { return read_optional(in, found); });
    return found;
}

std::optional<DebugFunction> JailedTypes::function_at(std::uint64_t addr)
{
    std::optional<DebugFunction> found;
    MessageWriter arguments;
    arguments.put(addr);
    request(reader_function_at, arguments, [&](MessageReader& in) {
        if (in.get<std::uint8_t>() == 0)
            return true;
        DebugFunction function;
        if (!read_function(in, function))
            return false;
        found = std::move(function);
        return true;
    });
    return found;
}

DebugType JailedTypes::type(DebugRef ref)
{
    const auto [at, is_new] = types_.try_emplace(ref);
    if (is_new) {
        MessageWriter arguments;
        arguments.put(ref);
        request(reader_type, arguments, [&, &into = at->second](MessageReader& in) {
            return read_type(in, into);
        });
    }
    return at->second;
}

std::vector<std::string_view> JailedTypes::names(Kind kind)
{
    const auto [at, is_new] = names_.try_emplace(kind);
    if (is_new) {
        MessageWriter arguments;
        arguments.put(static_cast<std::uint8_t>(kind));
        request(reader_type_names, arguments,
                [&, &into = at->second](MessageReader& in) {
                    return read_texts(in, into);
                });
    }
    return {at->second.begin(), at->second.end()};
}

std::vector<std::string> JailedTypes::take_cuts()
{
    return file_->take_cuts("types");
}

} // namespace dt
