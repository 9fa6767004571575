// SPDX-License-Identifier: MIT
#include "libdtrace/symbols/reader/jailed_elf.hpp"

#include "libdtrace/symbols/reader/jailed_types.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace dt {

std::vector<Result<std::unique_ptr<JailedElf>>>
JailedElf::open_all(std::shared_ptr<SymbolReader> reader,
                    std::span<const std::shared_ptr<const ElfSource>> sources)
{
    std::vector<Result<std::unique_ptr<JailedElf>>> all;
    std::map<std::shared_ptr<ReaderSlot>, std::vector<std::size_t>> of_slot;
    for (const auto& source : sources) {
        auto slot = reader->slot_for_tables(*source);
        of_slot[slot].push_back(all.size());
        all.push_back(std::unique_ptr<JailedElf>(new JailedElf(reader, slot, source)));
    }
    for (const auto& [slot, indices] : of_slot) {
        std::vector<JailedFile*> files;
        for (std::size_t i : indices)
            files.push_back(&(*all[i])->file_);
        auto facts = JailedFile::open_all(files);
        for (std::size_t n = 0; n < indices.size(); ++n) {
            auto& elf = all[indices[n]];
            if (facts[n])
                (*elf)->facts_ = std::move(*facts[n]);
            else
                elf = facts[n].error();
        }
    }
    return all;
}

JailedElf::JailedElf(std::shared_ptr<SymbolReader> reader,
                     std::shared_ptr<ReaderSlot> slot,
                     std::shared_ptr<const ElfSource> source)
    : reader_(std::move(reader)),
      file_(std::move(slot), std::move(source), reader_->next_number())
{
}

template <class Read>
MessageBody JailedElf::request(ReaderWord word, const MessageWriter& arguments,
                               Read read)
{
    auto reply = file_.call(word, arguments);
    if (!reply)
        return {};
    MessageReader in(reply->body);
    if (read(in) && in.ok())
        return std::move(reply->body);
    file_.reject_reply();
    return {};
}

const FunctionTable& JailedElf::functions()
{
    if (functions_)
        return *functions_;
    FunctionTable table;
    names_ = request(reader_functions, {},
                     [&](MessageReader& in) { return read_functions(in, table); });
    functions_ = names_.empty() ? FunctionTable() : std::move(table);
    return *functions_;
}

std::vector<const Function*> JailedElf::match(std::string_view glob)
{
    const auto all = functions().all();
    std::vector<const Function*> found;
    MessageWriter arguments;
    arguments.text(glob);
    request(reader_match, arguments, [&](MessageReader& in) {
        for (std::uint32_t i : in.list<std::uint32_t>()) {
            if (i >= all.size())
                return false;
            found.push_back(&all[i]);
        }
        return true;
    });
    return found;
}

std::vector<std::string> JailedElf::suggest(std::string_view name)
{
    std::vector<std::string> nearest;
    MessageWriter arguments;
    arguments.text(name);
    request(reader_suggest, arguments,
            [&](MessageReader& in) { return read_texts(in, nearest); });
    return nearest;
}

std::vector<std::string> JailedElf::take_cuts()
{
    std::vector<std::string> cuts = file_.take_cuts("symbols");
    if (types_ && *types_)
        std::ranges::move((**types_)->take_cuts(), std::back_inserter(cuts));
    return cuts;
}

std::optional<std::uint64_t> JailedElf::find_variable(std::string_view name)
{
    std::optional<std::uint64_t> found;
    MessageWriter arguments;
    arguments.text(name);
    request(reader_find_variable, arguments,
            [&](MessageReader& in) { return read_optional(in, found); });
    return found;
}

const DataSymbol* JailedElf::variable_at(std::uint64_t addr)
{
    const DataSymbol* known = variables_.find(addr);
    if (known == nullptr) {
        DataSymbol found;
        MessageWriter arguments;
        arguments.put(addr);
        request(reader_variable_at, arguments, [&](MessageReader& in) {
            found.addr = in.get<std::uint64_t>();
            found.from = in.get<std::uint64_t>();
            found.end = in.get<std::uint64_t>();
            found.name = in.text();
            return in.ok() && found.contains(addr) && found.addr <= addr;
        });
        // Without a reply, or if its range does not contain the address, nothing is kept.
        if (!found.contains(addr) || found.addr > addr)
            return nullptr;
        known = variables_.add(std::move(found));
    }
    return known == nullptr || known->name.empty() ? nullptr : known;
}

// Asks the process that reads tables whether the file has DWARF. Most files have none,
// so no other process is needed for them.
Result<std::unique_ptr<DebugTypes>> JailedElf::open_types()
{
    bool there = false;
    request(reader_has_types, {}, [&](MessageReader& in) {
        there = in.get<std::uint8_t>() != 0;
        return true;
    });
    if (!there)
        return Error{Code::not_found, file_.source()->path + ": no debug data"};
    return JailedTypes::open(*reader_, file_.source());
}

Result<DebugTypes*> JailedElf::debug_types()
{
    if (!types_)
        types_ = open_types();
    if (!*types_)
        return types_->error();
    return (*types_)->get();
}

std::span<const AddressRange> JailedElf::frame_functions()
{
    if (!frames_) {
        frames_.emplace();
        request(reader_frame_functions, {},
                [&](MessageReader& in) { return read_ranges(in, *frames_); });
    }
    return *frames_;
}

CodePlaces JailedElf::code_places()
{
    CodePlaces places;
    const MessageBody reply = request(reader_code_places, {}, [&](MessageReader& in) {
        return read_places(in, places);
    });
    return reply.empty() ? CodePlaces() : places;
}

StaticProbes JailedElf::static_probes()
{
    StaticProbes probes;
    const MessageBody reply = request(reader_static_probes, {}, [&](MessageReader& in) {
        return read_probes(in, probes);
    });
    return reply.empty() ? StaticProbes() : probes;
}

} // namespace dt
