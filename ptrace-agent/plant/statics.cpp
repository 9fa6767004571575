// SPDX-License-Identifier: MIT
#include "ptrace-agent/plant/statics.hpp"

#include "ptrace-agent/address_space.hpp"
#include "ptrace-agent/confine/relayed_calls.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <unistd.h>
#include <utility>

namespace dt::agent {

std::optional<std::uint64_t> Statics::add(TargetAddr site, const StaticFacts& facts,
                                          std::span<const dt_operand> operands)
{
    std::string bytes(reinterpret_cast<const char*>(operands.data()),
                      operands.size_bytes());
    auto known = lists_.find(bytes);
    if (known == lists_.end()) {
        if (operands.size() > DT_RT_MAX_OPERANDS - operands_.size())
            return std::nullopt;
        known = lists_.emplace(bytes, operands_.size()).first;
        operands_.insert(operands_.end(), operands.begin(), operands.end());
    }
    Entry entry{site, facts.semaphore, known->second,
                static_cast<std::uint32_t>(operands.size())};
    auto [begin, end] = by_site_.equal_range(site);
    for (auto at = begin; at != end; ++at) {
        Entry& same = entries_[at->second];
        bool was_gone = std::exchange(same.gone, false);
        if (same == entry) {
            n_sites_[entry.semaphore] += was_gone ? 1 : 0;
            return at->second;
        }
        same.gone = was_gone;
    }
    ++n_sites_[entry.semaphore];
    by_site_.emplace(site, entries_.size());
    entries_.push_back(entry);
    return entries_.size() - 1;
}

std::uint64_t Statics::list_of(std::uint64_t entry) const
{
    if (entry >= entries_.size())
        return 0;
    return entries_[entry].first | std::uint64_t{entries_[entry].n} << 32;
}

std::span<const dt_operand> Statics::operands_at(std::uint64_t list) const
{
    auto first = static_cast<std::uint32_t>(list);
    auto n = static_cast<std::uint32_t>(list >> 32);
    if (first > operands_.size() || n > operands_.size() - first)
        return {};
    return std::span(operands_).subspan(first, n);
}

std::span<const dt_operand> Statics::operands_of(std::uint64_t entry) const
{
    return operands_at(list_of(entry));
}

std::optional<dt_operand> destination_of(const Instruction& jump)
{
    dt_operand to{};
    to.bytes = 8;
    to.reg = to.index = DT_OPERAND_NO_REG;
    if (jump.flow != ControlFlow::jump_indirect || jump.has(prefix_operand_size))
        return std::nullopt;
    if (!jump.has_memory) {
        if (jump.n_operands != 1 || jump.operands[0].kind != Operand::reg)
            return std::nullopt;
        to.form = DT_OPERAND_GENERAL;
        to.reg = static_cast<dt_u8>(jump.operands[0].number);
        return to;
    }
    const MemoryOperand& memory = jump.memory;
    if (memory.address_32)
        return std::nullopt;
    to.form = DT_OPERAND_MEMORY;
    to.value = memory.disp;
    if (jump.rip_relative)
        to.value += static_cast<std::int64_t>(jump.next().value);
    else if (memory.base != Reg::none)
        to.reg = static_cast<dt_u8>(memory.base);
    if (memory.index != Reg::none)
        to.index = static_cast<dt_u8>(memory.index);
    to.shift = static_cast<dt_u8>(std::countr_zero(memory.scale));
    to.segment = memory.segment == Segment::fs   ? 'f'
                 : memory.segment == Segment::gs ? 'g'
                                                 : 0;
    return to;
}

std::uint64_t offset_of_jump(std::span<const dt_operand> operands, TargetAddr jump)
{
    return operands.size() <= operands_per_part
               ? 0
               : jump.value - static_cast<std::uint64_t>(operands[1].value);
}

// Adds 1 or -1 to a semaphore through /proc/PID/mem. Returns false if that fails or if
// the counter would wrap around.
static bool change(int mem, TargetAddr semaphore, int by)
{
    std::uint16_t count = 0;
    if (pread(mem, &count, sizeof count, static_cast<off_t>(semaphore.value)) !=
            sizeof count ||
        count == (by < 0 ? 0 : UINT16_MAX))
        return false;
    count = static_cast<std::uint16_t>(count + by);
    return write_memory(mem, &count, sizeof count, semaphore.value) == sizeof count;
}

static TargetAddr list_at(TargetAddr image)
{
    return image + DT_RT_RAISED;
}

// Returns which byte of which file is mapped at an address. Sets inode to 0 unless the
// mapping is a private and writable mapping of a file.
static dt_rt_raised place_of(TargetAddr at, const std::vector<Mapping>& mappings)
{
    dt_rt_raised place{at.value, 0, 0, 0, 0};
    const Mapping* mapping = find_mapping(mappings, at);
    if (mapping != nullptr && mapping->writable && !mapping->shared) {
        place.inode = mapping->file.inode;
        place.offset = mapping->offset + (at - mapping->begin);
        place.major = mapping->file.major;
        place.minor = mapping->file.minor;
    }
    return place;
}

static bool is_same(const dt_rt_raised& a, const dt_rt_raised& b)
{
    return a.at == b.at && a.inode == b.inode && a.offset == b.offset &&
           a.major == b.major && a.minor == b.minor;
}

// The number of entries is 0 during the write, so that a reader never finds an
// incomplete entry.
void Statics::write_list(AddressSpace& space) const
{
    if (entries_.empty() || space.runtime.image.value == 0)
        return;
    std::vector<dt_rt_raised> all;
    for (const auto& [at, place] : raised_)
        if (place.inode != 0 && all.size() < DT_RT_MAX_RAISED)
            all.push_back(place);
    const TargetAddr list = list_at(space.runtime.image);
    const dt_u64 n = all.size(), none = 0;
    static_assert(offsetof(dt_rt_raised_list, n) == 0);
    space.write_text(list, std::as_bytes(std::span(&none, 1)));
    space.write_text(list + offsetof(dt_rt_raised_list, all),
                     std::as_bytes(std::span(all)));
    space.write_text(list, std::as_bytes(std::span(&n, 1)));
}

void Statics::raise(AddressSpace& space, const std::set<TargetAddr>& wanted)
{
    std::vector<Mapping> mappings;
    for (TargetAddr each : wanted) {
        if (raised_.count(each) != 0)
            continue;
        if (mappings.empty())
            mappings = mappings_of(space.proc_tid());
        if (change(space.mem(), each, 1))
            raised_.emplace(each, place_of(each, mappings));
    }
}

void Statics::settle(AddressSpace& space)
{
    if (entries_.empty())
        return;
    std::set<TargetAddr> wanted;
    for (std::uint64_t i = 0; i < entries_.size(); i++) {
        const Entry& entry = entries_[i];
        if (entry.semaphore.value == 0 || entry.gone)
            continue;
        const Tracepoint* tp = space.tracepoints.find(entry.site);
        if (tp == nullptr || (!tp->written && !tp->site))
            continue;
        if (std::any_of(tp->firings.begin(), tp->firings.end(), [&](const Firing& f) {
                return f.kind == SiteKind::static_probe && f.arg0 == i;
            }))
            wanted.insert(entry.semaphore);
    }
    std::vector<TargetAddr> unneeded;
    std::erase_if(raised_, [&](const auto& each) {
        bool is_unneeded = wanted.count(each.first) == 0;
        if (is_unneeded)
            unneeded.push_back(each.first);
        return is_unneeded;
    });
    if (!unneeded.empty())
        write_list(space);
    for (TargetAddr each : unneeded)
        change(space.mem(), each, -1);
    raise(space, wanted);
    if (!raised_.empty())
        write_list(space);
}

void Statics::lower_all(AddressSpace& space)
{
    auto all = std::exchange(raised_, {});
    if (all.empty())
        return;
    write_list(space);
    for (const auto& [at, place] : all)
        change(space.mem(), at, -1);
}

void Statics::lower_in(const AddressSpace& space, pid_t child) const
{
    if (raised_.empty())
        return;
    Fd mem = open_mem(child);
    if (!mem) // the child was killed
        return;
    const dt_u64 none = 0;
    if (TargetAddr image = space.runtime.image; image.value != 0)
        (void)!write_memory(mem.get(), &none, sizeof none, list_at(image).value);
    for (const auto& [at, place] : raised_)
        change(mem.get(), at, -1);
}

static bool read_at(int mem, TargetAddr at, std::span<std::byte> into)
{
    return pread(mem, into.data(), into.size(), static_cast<off_t>(at.value)) ==
           static_cast<ssize_t>(into.size());
}

void lower_left(int mem, pid_t pid, TargetAddr image)
{
    const TargetAddr list = list_at(image);
    dt_u64 n = 0;
    if (!read_at(mem, list, std::as_writable_bytes(std::span(&n, 1))) || n == 0 ||
        n > DT_RT_MAX_RAISED)
        return;
    std::vector<dt_rt_raised> all(n);
    const dt_u64 none = 0;
    if (!read_at(mem, list + offsetof(dt_rt_raised_list, all),
                 std::as_writable_bytes(std::span(all))) ||
        write_memory(mem, &none, sizeof none, list.value) != sizeof none)
        return;
    const std::vector<Mapping> mappings = mappings_of(pid);
    for (const dt_rt_raised& each : all)
        if (each.inode != 0 && is_same(each, place_of({each.at}, mappings)))
            change(mem, {each.at}, -1);
}

void Statics::forget(TargetAddr site)
{
    auto [at, end] = by_site_.equal_range(site);
    for (; at != end; ++at) {
        Entry& entry = entries_[at->second];
        if (!std::exchange(entry.gone, true) && --n_sites_[entry.semaphore] == 0)
            raised_.erase(entry.semaphore);
    }
}

} // namespace dt::agent
