// SPDX-License-Identifier: MIT
#include "libdtrace/symbols/reader/symbol_reader.hpp"

#include "libdtrace/symbols/reader/jailed_elf.hpp"
#include "libdtrace/symbols/reader/protocol.hpp"
#include "libdtrace/symbols/reader/reader_server.hpp"

#include <utility>

namespace dt {

constexpr std::size_t max_demangled_names = 16384;

std::shared_ptr<SymbolReader> SymbolReader::create()
{
    return create(serve_reader, {});
}

std::shared_ptr<SymbolReader> SymbolReader::create(ReaderSlot::Serve serve,
                                                   ReaderProcess::Limits limits)
{
    return std::shared_ptr<SymbolReader>(new SymbolReader(std::move(serve), limits));
}

SymbolReader::SymbolReader(ReaderSlot::Serve serve, ReaderProcess::Limits limits)
    : serve_(std::move(serve)), limits_(limits),
      tables_(std::make_shared<ReaderSlot>(serve_, limits))
{
}

void SymbolReader::prepare()
{
    std::lock_guard lock(tables_->mutex());
    (void)tables_->process(true); // open() reports a failure
}

Result<std::shared_ptr<ElfImage>> SymbolReader::open(ElfSource source)
{
    auto shared = std::make_shared<const ElfSource>(std::move(source));
    auto tables = JailedElf::open(shared_from_this(), shared);
    if (!tables)
        return tables.error();
    return std::make_shared<ElfImage>(std::move(shared), std::move(*tables));
}

std::string SymbolReader::demangled_or_same(std::string_view name)
{
    if (!name.starts_with("_Z"))
        return std::string(name);
    std::string key(name);
    {
        std::lock_guard lock(mutex_);
        if (auto known = demangled_.find(key); known != demangled_.end())
            return known->second;
    }
    std::string demangled = key;
    MessageWriter request;
    request.text(name);
    {
        std::lock_guard lock(tables_->mutex());
        auto process = tables_->process(true);
        auto reply = process ? (*process)->call(reader_demangle, request.body(), -1, {})
                             : Result<ReaderMessage>(process.error());
        MessageReader in(reply ? reply->body : std::span<const std::byte>());
        if (std::string text = in.text(); in.ok())
            demangled = std::move(text);
    }
    std::lock_guard lock(mutex_);
    if (demangled_.size() >= max_demangled_names)
        demangled_.clear();
    demangled_.emplace(std::move(key), demangled);
    return demangled;
}

std::shared_ptr<ReaderSlot> SymbolReader::slot_for_types()
{
    std::lock_guard lock(mutex_);
    if (n_type_slots_ < max_type_processes) {
        n_type_slots_++;
        last_type_slot_ = std::make_shared<ReaderSlot>(serve_, limits_);
    }
    return last_type_slot_;
}

std::uint64_t SymbolReader::next_number()
{
    std::lock_guard lock(mutex_);
    return ++last_number_;
}

} // namespace dt
