// SPDX-License-Identifier: MIT
#include "ptrace-agent/plant/uprobe_watch.hpp"

#include "ptrace-agent/address_space.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace dt::agent {

// The pause between two comparisons. It is long enough that the comparisons take at
// most 1 / max_load of a CPU, but never longer than max_pause_ns. After a trap in a
// changed window, it is trap_pause_ns.
constexpr std::uint64_t min_pause_ns = 200'000'000;
constexpr std::uint64_t max_pause_ns = 1'000'000'000;
constexpr std::uint64_t trap_pause_ns = 5'000'000;
constexpr std::uint64_t max_load = 200;

void UprobeWatch::begin()
{
    alarms_.set_if_unset(Alarms::uprobes, monotonic_ns() + min_pause_ns);
}

void UprobeWatch::window_trapped(const AddressSpace& space, TargetAddr at)
{
    const Planted* planted = space.patches.covering(at);
    if (planted == nullptr)
        return;
    const Patch& patch = planted->patch;
    std::vector<std::byte> text(patch.text.size());
    if (space.read_text(patch.at, text) && !std::ranges::equal(text, patch.text))
        alarms_.set(Alarms::uprobes,
                    std::max(monotonic_ns(), compared_ns_ + trap_pause_ns));
}

void UprobeWatch::report(const AddressSpace& space, const KnownText::Changed& removed)
{
    auto places = [](std::size_t n) {
        return std::to_string(n) + (n == 1 ? " place" : " places");
    };
    const std::string lost = " where dtrace has a jump; dtrace has removed its jumps "
                             "there, and their probes "
                             "no longer fire";
    if (removed.n_by_uprobes != 0)
        tracees_.report(space.owner(),
                        "another tracer (for example, bpftrace or perf) has set "
                        "breakpoints at " +
                            places(removed.n_by_uprobes) + lost);
    if (removed.n_by_program != 0)
        tracees_.report(space.owner(),
                        "the program or another process has changed the code at " +
                            places(removed.n_by_program) + lost);
    if (removed.linker)
        tracees_.report(
            space.owner(),
            "one of these places is the function that the dynamic linker calls when it "
            "loads or unloads libraries; until dtrace plants probes again, it does not "
            "notice libraries that are loaded or unloaded");
}

// Removes the jumps that uprobes have changed. Returns whether the address space must be
// checked again.
bool UprobeWatch::check(const std::shared_ptr<AddressSpace>& space)
{
    if (space->presence != Presence::attached)
        return true; // the threads cannot be stopped now
    const std::uint64_t begins = monotonic_ns();
    const bool changed = !space->patches.changed(*space).empty();
    spent_ns_ += monotonic_ns() - begins;
    if (changed) {
        StoppedWorld world(tracees_, space);
        if (world.any_thread() == nullptr || space->budget.given_up())
            return true; // all threads have ended, or the main loop will release them
        // The linker may just have unmapped the text.
        space->known_text.forget_unmapped(*space);
        const KnownText::Changed removed = space->known_text.forget_changed(*space);
        jumps_.reclaim(*space);
        report(*space, removed);
    }
    if (space->known_text.has_forgotten())
        client_wait_.report_libraries_changed(space->owner());
    return !space->patches.empty();
}

void UprobeWatch::compare_if_due()
{
    if (!alarms_.is_due(Alarms::uprobes))
        return;
    alarms_.set(Alarms::uprobes, 0); // it may be set again during the comparison
    spent_ns_ = 0;
    std::set<std::shared_ptr<AddressSpace>> spaces;
    for (const auto& [pid, process] : tracees_.processes())
        spaces.insert(process->space);
    bool any = false;
    for (const std::shared_ptr<AddressSpace>& space : spaces)
        any = check(space) || any;
    compared_ns_ = monotonic_ns();
    if (any)
        alarms_.set_if_unset(Alarms::uprobes,
                             compared_ns_ + std::clamp(spent_ns_ * max_load,
                                                       min_pause_ns, max_pause_ns));
}

} // namespace dt::agent
