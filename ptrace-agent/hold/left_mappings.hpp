// SPDX-License-Identifier: MIT
// Unmaps the memory that a killed agent has left in a target, and removes the stub for
// system calls (inject/call_stub.hpp) that it has left in the text.
//
//   /proc/PID/maps ──> journals ──> entries ──> ranges that are ours ──> munmap(2)
//                                                 └── not used by any thread (CodeUse)
//
// A journal (inject/mapping_journal.hpp) lists the mappings. The target can forge a
// journal. It then only makes the agent unmap memory of the target itself, which the
// target can also do without us. Only ranges that look like ours are unmapped: private
// anonymous memory, and dtrace's memfds.
//
// A journal is kept, with the mappings that may still be needed, in these cases. The
// next session then tries again.
//   - The text may still contain jumps or breakpoints of the killed agent.
//   - A thread may still execute our code, or may return to it.
//   - The program's action for SIGTRAP leads to the rescue, and cannot be restored.
#pragma once

#include "ptrace-agent/hold/tracees.hpp"
#include "ptrace-agent/inject/injector.hpp"
#include "ptrace-agent/trap/trap_signals.hpp"

namespace dt::agent {

class LeftMappings {
public:
    LeftMappings(Tracees& tracees, Injector& injector, TrapSignals& trap_signals)
        : tracees_(tracees), injector_(injector), trap_signals_(trap_signals)
    {
    }

    // Unmaps what earlier agents have left. Must be called before the agent maps memory
    // in the target. `text_is_original` says whether the text of all files is known to
    // contain no jumps and breakpoints.
    void remove(StoppedWorld& world, bool text_is_original);
    // Called when the target is released and its text has been restored. Unmaps the
    // target's journal, and first all that the journal still lists. If remove() has left
    // something, tries again.
    void remove_at_release(StoppedWorld& world);

private:
    struct Left; // one journal

    void remove_in(StoppedWorld& world, std::vector<Left>& journals);
    std::vector<LeftRegion> needed_rescues(StoppedWorld& world,
                                           const std::vector<Left>& journals);
    bool unmap(StoppedWorld& world, TargetAddr begin, TargetAddr end);

    Tracees& tracees_;
    Injector& injector_;
    TrapSignals& trap_signals_;
};

} // namespace dt::agent
