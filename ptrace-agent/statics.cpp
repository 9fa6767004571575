// SPDX-License-Identifier: MIT
#include "ptrace-agent/statics.hpp"

#include "ptrace-agent/address_space.hpp"

#include <algorithm>
#include <unistd.h>

namespace dt::agent {

std::optional<std::uint64_t> Statics::add(TargetAddr site, const StaticFacts& facts,
                                          std::span<const dt_rt_operand> operands)
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
    entries_.push_back(entry);
    return entries_.size() - 1;
}

std::uint64_t Statics::list_of(std::uint64_t entry) const
{
    if (entry >= entries_.size())
        return 0;
    return entries_[entry].first | std::uint64_t{entries_[entry].n} << 32;
}

std::span<const dt_rt_operand> Statics::operands_of(std::uint64_t entry) const
{
    if (entry >= entries_.size())
        return {};
    return std::span(operands_).subspan(entries_[entry].first, entries_[entry].n);
}

// by: 1 or -1. One that does not count us is left alone.
static void change(AddressSpace& space, TargetAddr semaphore, int by)
{
    std::uint16_t count = 0;
    if (!space.read_text(semaphore, std::as_writable_bytes(std::span(&count, 1))) ||
        (by < 0 && count == 0))
        return;
    count = static_cast<std::uint16_t>(count + by);
    space.write_text(semaphore, std::as_bytes(std::span(&count, 1)));
}

void Statics::settle(AddressSpace& space)
{
    if (entries_.empty())
        return;
    std::set<TargetAddr> wanted;
    for (std::uint64_t i = 0; i < entries_.size(); i++) {
        const Entry& entry = entries_[i];
        if (entry.semaphore.value == 0)
            continue;
        const Tracepoint* tp = space.find(entry.site);
        if (tp == nullptr || (!tp->written && !tp->site))
            continue;
        if (std::any_of(tp->firings.begin(), tp->firings.end(), [&](const Firing& f) {
                return f.kind == SiteKind::static_probe && f.arg0 == i;
            }))
            wanted.insert(entry.semaphore);
    }
    for (TargetAddr each : wanted)
        if (raised_.insert(each).second)
            change(space, each, 1);
    std::erase_if(raised_, [&](TargetAddr each) {
        bool gone = wanted.count(each) == 0;
        if (gone)
            change(space, each, -1);
        return gone;
    });
}

void Statics::lower_all(AddressSpace& space)
{
    for (TargetAddr each : raised_)
        change(space, each, -1);
    raised_.clear();
}

void Statics::lower_in(pid_t child) const
{
    if (raised_.empty())
        return;
    Fd mem = open_mem(child);
    for (TargetAddr each : raised_) {
        std::uint16_t count = 0;
        auto at = static_cast<off_t>(each.value);
        if (!mem || pread(mem.get(), &count, sizeof count, at) != sizeof count ||
            count == 0)
            continue;
        count = static_cast<std::uint16_t>(count - 1);
        // A child that is killed meanwhile needs nothing any more.
        (void)!pwrite(mem.get(), &count, sizeof count, at);
    }
}

void Statics::forget(TargetAddr site)
{
    for (Entry& entry : entries_) {
        if (entry.site != site)
            continue;
        raised_.erase(entry.semaphore);
        entry.semaphore = TargetAddr{};
    }
}

} // namespace dt::agent
