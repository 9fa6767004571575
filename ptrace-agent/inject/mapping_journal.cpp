// SPDX-License-Identifier: MIT
#include "ptrace-agent/inject/mapping_journal.hpp"

#include "base/page_bytes.hpp"
#include "process/proc_files.hpp"
#include "ptrace-agent/address_space.hpp"

#include <algorithm>

namespace dt::agent {

// A journal's address is a multiple of place_period plus place_offset.
constexpr std::uint64_t place_period = 256 << 20, place_offset = 0xd7ac000;
// The size of the range in which next_place() returns addresses.
constexpr std::uint64_t room_bytes = 64 << 20;
// The kernel merges adjacent mappings. These bytes keep ours separate.
constexpr std::uint64_t place_gap = 64 << 10;
// Addresses near the text are left free for trampolines.
constexpr std::uint64_t distance_from_text = 8ull << 30;
constexpr std::uint64_t highest_place = 0x7000'0000'0000;

bool is_journal(const Mapping& mapping)
{
    return mapping.path.empty() && mapping.file.inode == 0 && mapping.readable &&
           !mapping.writable && !mapping.executable && !mapping.shared &&
           mapping.end - mapping.begin == journal_bytes &&
           mapping.begin.value % place_period == place_offset;
}

JournalHeader journal_header_for(pid_t pid)
{
    constexpr int start_time = 22; // number of the field in proc(5), stat
    return {journal_magic, journal_version, 0, static_cast<std::uint64_t>(pid),
            stat_number(read_proc_file(pid, "stat"), start_time)};
}

std::optional<TargetAddr>
MappingJournal::find_place(const std::vector<Mapping>& mappings)
{
    std::uint64_t limit = highest_place;
    for (const Mapping& mapping : mappings)
        if (mapping.executable && mapping.is_file() &&
            mapping.begin.value > 2 * distance_from_text)
            limit = mapping.begin.value - distance_from_text;
    auto is_free = [&](TargetAddr from, TargetAddr end) {
        auto after = std::upper_bound(
            mappings.begin(), mappings.end(), from,
            [](TargetAddr at, const Mapping& mapping) { return at < mapping.end; });
        return after == mappings.end() || after->begin >= end;
    };
    constexpr int max_tries = 4096;
    std::uint64_t at =
        limit / place_period * place_period - place_period + place_offset;
    for (int i = 0; i < max_tries && at > 2 * place_period; ++i, at -= place_period)
        if (is_free(TargetAddr{at - place_gap}, TargetAddr{at + room_bytes}))
            return TargetAddr{at};
    return std::nullopt;
}

bool MappingJournal::open(AddressSpace& space, TargetAddr at)
{
    *this = {};
    at_ = at;
    next_ = journal_bytes + place_gap;
    if (write_header(space))
        return true;
    *this = {};
    refused_ = true;
    return false;
}

bool MappingJournal::inherit(AddressSpace& child, const MappingJournal& parent)
{
    *this = parent;
    if (!is_open() || write_header(child))
        return is_open();
    *this = {};
    return false;
}

TargetAddr MappingJournal::next_place(std::uint64_t bytes)
{
    if (!is_open() || next_ + bytes + place_gap > room_bytes)
        return {};
    const TargetAddr place = at_ + next_;
    next_ += ((bytes + page_bytes - 1) & ~(page_bytes - 1)) + place_gap;
    return place;
}

void MappingJournal::add(AddressSpace& space, JournalEntry entry)
{
    if (!is_open())
        return;
    auto free =
        std::find_if(entries_.begin(), entries_.end(), [](const JournalEntry& each) {
            return each.state == EntryState::unused;
        });
    const auto index = static_cast<std::size_t>(free - entries_.begin());
    if (index >= max_journal_entries)
        return;
    if (free != entries_.end()) {
        *free = entry;
        return write_entry(space, index);
    }
    entries_.push_back(entry);
    write_entry(space, index);
    write_header(space);
}

void MappingJournal::set_state(AddressSpace& space, TargetAddr at, EntryState state)
{
    auto entry =
        std::find_if(entries_.begin(), entries_.end(), [at](const JournalEntry& each) {
            return each.at == at.value && each.state != EntryState::unused;
        });
    if (entry == entries_.end())
        return;
    entry->state = state;
    write_entry(space, static_cast<std::size_t>(entry - entries_.begin()));
}

bool MappingJournal::is_empty() const
{
    return std::all_of(entries_.begin(), entries_.end(), [](const JournalEntry& each) {
        return each.state == EntryState::unused;
    });
}

void MappingJournal::write_entry(AddressSpace& space, std::size_t index)
{
    const JournalEntry& entry = entries_[index];
    space.write_text(at_ + sizeof(JournalHeader) + index * sizeof entry,
                     std::as_bytes(std::span(&entry, 1)));
}

bool MappingJournal::write_header(AddressSpace& space)
{
    JournalHeader header = journal_header_for(space.owner());
    header.n = static_cast<std::uint32_t>(entries_.size());
    return space.write_text(at_, std::as_bytes(std::span(&header, 1)));
}

} // namespace dt::agent
