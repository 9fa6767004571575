// SPDX-License-Identifier: MIT
#include "libdtrace/symbols/reader/symbol_reader.hpp"

#include "libdtrace/symbols/reader/jailed_elf.hpp"
#include "libdtrace/symbols/reader/protocol.hpp"
#include "libdtrace/symbols/reader/reader_server.hpp"
#include "process/maps.hpp"

#include <array>
#include <cstring>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

namespace dt {

constexpr std::size_t max_demangled_names = 16384;

// Returns whether the bytes are those of the vDSO in this process. Nearly all processes
// have the same vDSO.
static bool is_own_vdso(std::span<const std::byte> bytes)
{
    for (const Mapping& mapping : mappings_of(::getpid()))
        if (mapping.path == vdso_path)
            return bytes.size() == mapping.end - mapping.begin &&
                   std::memcmp(reinterpret_cast<const void*>(mapping.begin.value),
                               bytes.data(), bytes.size()) == 0;
    return false;
}

// Returns whether the kernel may permit this process to trace processes of other users.
static bool may_trace_other_users()
{
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> held{};
    if (::syscall(SYS_capget, &header, held.data()) != 0)
        return true;
    return (held[CAP_TO_INDEX(CAP_SYS_PTRACE)].effective &
            CAP_TO_MASK(CAP_SYS_PTRACE)) != 0;
}

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
      names_(std::make_shared<ReaderSlot>(serve_, limits))
{
}

void SymbolReader::prepare()
{
    const std::shared_ptr<ReaderSlot> slot = slot_of_owner(0);
    std::lock_guard lock(slot->mutex());
    (void)slot->process(true); // open() reports a failure
}

Result<std::shared_ptr<ElfImage>> SymbolReader::open(ElfSource source)
{
    std::vector<ElfSource> sources;
    sources.push_back(std::move(source));
    return std::move(open_all(std::move(sources)).front());
}

std::vector<Result<std::shared_ptr<ElfImage>>>
SymbolReader::open_all(std::vector<ElfSource> sources)
{
    std::vector<std::shared_ptr<const ElfSource>> shared;
    for (ElfSource& source : sources)
        shared.push_back(std::make_shared<const ElfSource>(std::move(source)));
    std::vector<Result<std::shared_ptr<ElfImage>>> images;
    for (auto& tables : JailedElf::open_all(shared_from_this(), shared)) {
        if (tables)
            images.push_back(
                std::make_shared<ElfImage>(shared[images.size()], std::move(*tables)));
        else
            images.push_back(tables.error());
    }
    return images;
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
        std::lock_guard lock(names_->mutex());
        auto process = names_->process(true);
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

std::shared_ptr<ReaderSlot> SymbolReader::new_table_slot()
{
    if (n_table_slots_ < max_table_processes) {
        n_table_slots_++;
        last_table_slot_ = std::make_shared<ReaderSlot>(serve_, limits_);
    }
    return last_table_slot_;
}

std::shared_ptr<ReaderSlot> SymbolReader::slot_of_owner(uid_t owner)
{
    std::lock_guard lock(mutex_);
    std::shared_ptr<ReaderSlot>& slot = tables_[owner];
    if (!slot)
        slot = new_table_slot();
    return slot;
}

std::shared_ptr<ReaderSlot> SymbolReader::slot_for_tables(const ElfSource& source)
{
    if (!may_trace_other_users())
        return slot_of_owner(0);
    struct stat is {};
    if (source.fd && ::fstat(source.fd.get(), &is) == 0 &&
        (is.st_mode & (S_IWGRP | S_IWOTH)) == 0)
        return slot_of_owner(is.st_uid);
    if (!source.fd && is_own_vdso(source.bytes))
        return slot_of_owner(0);
    std::lock_guard lock(mutex_);
    return new_table_slot();
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
