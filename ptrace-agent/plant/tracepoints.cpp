// SPDX-License-Identifier: MIT
#include "ptrace-agent/plant/tracepoints.hpp"

#include "base/page_bytes.hpp"
#include "ptrace-agent/address_space.hpp"
#include "ptrace-agent/confine/relayed_calls.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <memory>
#include <unistd.h>

namespace dt::agent {

constexpr std::byte breakpoint{0xcc}; // int3

static TargetAddr page_of(TargetAddr at)
{
    return {at.value & ~std::uint64_t(page_bytes - 1)};
}

static SpaceId next_id()
{
    static SpaceId last = 0;
    return ++last;
}

Tracepoints::Tracepoints(AddressSpace& space, TracepointTable& table)
    : space_(space), id_(next_id()), table_(table)
{
}

Tracepoints::~Tracepoints()
{
    forget_all();
}

void Tracepoints::forget_all()
{
    table_.remove_space(id_);
    table_.reclaim();
    jumpless_.clear();
    n_sorted_ = 0;
}

void Tracepoints::overlay_original(TargetAddr from, std::span<std::byte> bytes) const
{
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const void* next = std::memchr(
            bytes.data() + i, std::to_integer<int>(breakpoint), bytes.size() - i);
        if (next == nullptr)
            return;
        i = static_cast<std::size_t>(static_cast<const std::byte*>(next) -
                                     bytes.data());
        if (Tracepoint* tp = find(from + i); tp != nullptr && tp->written)
            bytes[i] = tp->original();
    }
}

Tracepoint* Tracepoints::find(TargetAddr at) const
{
    return static_cast<Tracepoint*>(table_.find(id_, at));
}

Tracepoint& Tracepoints::add(const Instruction& insn)
{
    auto entry = std::make_unique<Tracepoint>(id_, insn.at, insn);
    Tracepoint& added = *entry;
    [[maybe_unused]] bool ok = static_cast<bool>(table_.add(std::move(entry)));
    assert(ok); // the address has no tracepoint yet
    note_jumpless(insn.at);
    return added;
}

void Tracepoints::note_jumpless(TargetAddr at)
{
    constexpr std::size_t n_unchecked = 4096;
    if (jumpless_.size() % n_unchecked == 0 && jumpless_.size() > 2 * size())
        (void)without_jump();
    jumpless_.push_back(at);
}

void Tracepoints::sort_jumpless()
{
    if (n_sorted_ == jumpless_.size())
        return;
    auto added = jumpless_.begin() + static_cast<std::ptrdiff_t>(n_sorted_);
    if (!std::is_sorted(added, jumpless_.end()))
        std::sort(added, jumpless_.end());
    std::inplace_merge(jumpless_.begin(), added, jumpless_.end());
    jumpless_.erase(std::unique(jumpless_.begin(), jumpless_.end()), jumpless_.end());
    n_sorted_ = jumpless_.size();
}

std::vector<Tracepoint*> Tracepoints::without_jump(TargetAddr from, TargetAddr end)
{
    sort_jumpless();
    std::vector<Tracepoint*> all;
    for (auto at = std::lower_bound(jumpless_.begin(), jumpless_.end(), from);
         at != jumpless_.end() && *at < end; ++at) {
        Tracepoint* tp = find(*at);
        if (tp != nullptr && (tp->written || !tp->site))
            all.push_back(tp);
    }
    return all;
}

std::vector<Tracepoint*> Tracepoints::without_jump(std::span<Tracepoint* const> but)
{
    sort_jumpless();
    std::vector<Tracepoint*> all;
    std::vector<TargetAddr> still;
    auto passed = but.begin();
    for (TargetAddr at : jumpless_) {
        while (passed != but.end() && (*passed)->at() < at)
            ++passed;
        bool is_passed = passed != but.end() && (*passed)->at() == at;
        Tracepoint* tp = is_passed ? nullptr : find(at);
        bool has_none = tp != nullptr && (tp->written || !tp->site);
        if (has_none)
            all.push_back(tp);
        if (is_passed || has_none)
            still.push_back(at);
    }
    jumpless_.swap(still);
    n_sorted_ = jumpless_.size();
    return all;
}

// Planting usually adds the tracepoints in ascending order, so they are often sorted
// already.
static void sort_by_address(std::vector<Tracepoint*>& all)
{
    auto before = [](Tracepoint* a, Tracepoint* b) { return a->at() < b->at(); };
    if (!std::is_sorted(all.begin(), all.end(), before))
        std::sort(all.begin(), all.end(), before);
}

std::vector<Tracepoint*> Tracepoints::all() const
{
    std::vector<Tracepoint*> all;
    table_.for_each(id_, [&all](TableEntry& entry) {
        all.push_back(static_cast<Tracepoint*>(&entry));
    });
    sort_by_address(all);
    return all;
}

// Writes breakpoints if `plant` is true, or original bytes otherwise, with two system
// calls per page. Returns the tracepoints whose byte was not as expected or could not
// be written.
std::vector<Tracepoint*> Tracepoints::exchange(std::vector<Tracepoint*> all, bool plant)
{
    std::vector<Tracepoint*> failed;
    std::byte text[page_bytes];
    sort_by_address(all);
    if (plant)
        space_.rescue.protect(space_, all);
    for (std::size_t first = 0, last; first < all.size(); first = last) {
        TargetAddr page = page_of(all[first]->at());
        for (last = first; last < all.size() && page_of(all[last]->at()) == page;)
            ++last;
        TargetAddr from = all[first]->at();
        std::span<std::byte> span(text, all[last - 1]->at() - from + 1);
        std::vector<Tracepoint*> changed;
        bool readable = space_.read_text(from, span);
        for (std::size_t i = first; i < last; ++i) {
            Tracepoint& tp = *all[i];
            std::byte& byte = span[tp.at() - from];
            if (!readable || byte != (plant ? tp.original() : breakpoint)) {
                failed.push_back(&tp);
                continue;
            }
            byte = plant ? breakpoint : tp.original();
            changed.push_back(&tp);
        }
        bool wrote = changed.empty() || space_.write_text(from, span);
        for (Tracepoint* tp : changed) {
            if (!wrote) {
                failed.push_back(tp);
                continue;
            }
            tp->written = plant;
            // If the tracepoint had a jump before, without_jump() may have removed it
            // from jumpless_.
            if (plant)
                note_jumpless(tp->at());
        }
    }
    return failed;
}

std::vector<Tracepoint*>
Tracepoints::write_breakpoints(const std::vector<Tracepoint*>& all)
{
    return exchange(all, true);
}

std::vector<Tracepoint*>
Tracepoints::restore_originals(const std::vector<Tracepoint*>& all)
{
    return exchange(all, false);
}

void Tracepoints::forget(Tracepoint& tracepoint)
{
    for (std::uint32_t link : tracepoint.links)
        space_.runtime.retire_site(link);
    table_.remove(id_, tracepoint.at());
}

void Tracepoints::restore_copy(pid_t child) const
{
    Fd mem = open_mem(child);
    if (!mem)
        return;
    const std::vector<Tracepoint*> sorted = all();
    std::byte text[page_bytes];
    for (std::size_t first = 0, last; first < sorted.size(); first = last) {
        TargetAddr page = page_of(sorted[first]->at());
        for (last = first; last < sorted.size() && page_of(sorted[last]->at()) == page;)
            ++last;
        TargetAddr from = sorted[first]->at();
        std::size_t n = sorted[last - 1]->at() - from + 1;
        if (pread(mem.get(), text, n, static_cast<off_t>(from.value)) !=
            static_cast<ssize_t>(n))
            continue;
        bool changed = false;
        for (std::size_t i = first; i < last; ++i) {
            std::byte& byte = text[sorted[i]->at() - from];
            if (!sorted[i]->written || byte != breakpoint)
                continue;
            byte = sorted[i]->original();
            changed = true;
        }
        if (changed)
            // Fails if the child has exited.
            (void)!write_memory(mem.get(), text, n, from.value);
    }
}

} // namespace dt::agent
