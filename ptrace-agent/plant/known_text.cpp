// SPDX-License-Identifier: MIT
#include "ptrace-agent/plant/known_text.hpp"

#include "ptrace-agent/address_space.hpp"

#include <algorithm>
#include <utility>

namespace dt::agent {

void KnownText::record_grab(pid_t tid)
{
    at_grab_ = text_mappings(tid);
}

bool KnownText::changed_since_grab(pid_t tid) const
{
    return at_grab_ != 0 && text_mappings(tid) != at_grab_;
}

std::vector<ForgottenProbe> KnownText::take_forgotten(unsigned session)
{
    auto its = std::stable_partition(
        forgotten_.begin(), forgotten_.end(),
        [session](const ForgottenProbe& each) { return each.session != session; });
    std::vector<ForgottenProbe> taken(its, forgotten_.end());
    forgotten_.erase(its, forgotten_.end());
    return taken;
}

void KnownText::forget_all()
{
    mappings_.clear();
    forgotten_.clear();
}

void KnownText::forget(AddressSpace& space, Tracepoint& tp)
{
    for (const Firing& firing : tp.firings)
        forgotten_.push_back({tp.at(), firing.probe, firing.session});
    space.statics.forget(tp.at());
    space.tracepoints.forget(tp);
}

void KnownText::forget_probes_of(AddressSpace& space,
                                 const std::vector<TargetAddr>& windows)
{
    for (TargetAddr window : windows) {
        for (const Planted::Probed& probed : space.patches.at(window)->probed) {
            if (Tracepoint* tp = space.tracepoints.find(probed.at))
                forget(space, *tp);
        }
    }
}

KnownText::Changed KnownText::forget_changed(AddressSpace& space)
{
    const std::vector<TargetAddr> windows = space.patches.changed(space);
    Changed changed;
    for (TargetAddr window : windows)
        ++(has_only_uprobes(space, *space.patches.at(window)) ? changed.n_by_uprobes
                                                              : changed.n_by_program);
    forget_probes_of(space, windows);
    space.patches.take_out(space, windows);
    WatchedFunctions::Linker& linker = space.watched.linker;
    if (linker.known() && space.tracepoints.find(linker.stop) == nullptr) {
        linker = {}; // the next request to plant probes watches the linker again
        changed.linker = true;
    }
    return changed;
}

// Forgets the tracepoints in a range if their breakpoint or jump is no longer in the
// text.
void KnownText::forget_gone_in(AddressSpace& space, TargetAddr from, TargetAddr end)
{
    for (Tracepoint* tp : space.tracepoints.without_jump(from, end)) {
        std::byte text{};
        if (tp->written &&
            (!space.read_text(tp->at(), {&text, 1}) || text != std::byte{0xcc}))
            forget(space, *tp);
    }
    const std::vector<TargetAddr> windows = space.patches.gone(space, from, end);
    forget_probes_of(space, windows);
    space.patches.drop(windows);
}

static bool is_same_text(const Mapping& a, const Mapping& b)
{
    return a.begin == b.begin && a.end == b.end && a.offset == b.offset &&
           a.file == b.file;
}

// Examines only the text mappings that have changed since the last call. If a changed
// mapping still contains our tracepoints, the next call examines it again.
void KnownText::forget_unmapped(AddressSpace& space)
{
    std::vector<Mapping> now = mappings_of(space.proc_tid());
    std::erase_if(now, [](const Mapping& m) { return !m.executable; });
    if (mappings_.empty())
        forget_gone_in(space, {1}, {~std::uint64_t{0}});
    std::vector<Mapping> unresolved;
    auto same = now.begin();
    for (const Mapping& before : mappings_) {
        while (same != now.end() && same->begin < before.begin)
            ++same;
        if (same != now.end() && is_same_text(*same, before))
            continue;
        forget_gone_in(space, before.begin, before.end);
        if (space.patches.any_in(before.begin, before.end) ||
            !space.tracepoints.without_jump(before.begin, before.end).empty())
            unresolved.push_back(before);
    }
    auto before = [](const Mapping& a, const Mapping& b) { return a.begin < b.begin; };
    auto n_now = static_cast<std::ptrdiff_t>(now.size());
    now.insert(now.end(), unresolved.begin(), unresolved.end());
    std::inplace_merge(now.begin(), now.begin() + n_now, now.end(), before);
    mappings_ = std::move(now);
}

} // namespace dt::agent
