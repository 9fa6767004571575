// SPDX-License-Identifier: MIT
#include "ptrace-agent/plant/uprobe_watch.hpp"

#include "ptrace-agent/address_space.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace dt::agent {

constexpr std::uint64_t pause_ns = 1'000'000'000;

void UprobeWatch::begin()
{
    alarms_.set_if_unset(Alarms::uprobes, monotonic_ns() + pause_ns);
}

void UprobeWatch::window_trapped(const AddressSpace& space, TargetAddr at)
{
    const Planted* planted = space.patches.covering(at);
    if (planted == nullptr)
        return;
    const Patch& patch = planted->patch;
    std::vector<std::byte> text(patch.text.size());
    if (space.read_text(patch.at, text) && !std::ranges::equal(text, patch.text))
        alarms_.set(Alarms::uprobes, monotonic_ns());
}

// Returns whether the address space has jumps.
bool UprobeWatch::compare(const std::shared_ptr<AddressSpace>& space)
{
    if (!space->patches.changed(*space).empty()) {
        StoppedWorld world(tracees_, space);
        if (world.any_thread() == nullptr || space->budget.given_up())
            return true; // it is released, or has ended
        // The linker may just have unmapped the text.
        space->known_text.forget_unmapped(*space);
        const std::size_t n = space->known_text.forget_changed(*space);
        jumps_.reclaim(*space);
        if (n != 0)
            client_.report_error(
                space->owner(),
                std::to_string(n) + (n == 1 ? " jump was" : " jumps were") +
                    " removed, because another tracer has set breakpoints at the same "
                    "instructions (for example, uprobes of bpftrace or perf)");
    }
    if (space->known_text.has_forgotten())
        client_wait_.report_libraries_changed(space->owner());
    return !space->patches.empty();
}

void UprobeWatch::compare_if_due()
{
    if (!alarms_.is_due(Alarms::uprobes))
        return;
    std::set<std::shared_ptr<AddressSpace>> spaces;
    for (const auto& [pid, process] : tracees_.processes())
        spaces.insert(process->space);
    bool any = false;
    for (const std::shared_ptr<AddressSpace>& space : spaces)
        any = compare(space) || any;
    alarms_.set(Alarms::uprobes, any ? monotonic_ns() + pause_ns : 0);
}

} // namespace dt::agent
