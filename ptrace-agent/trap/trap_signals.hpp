// SPDX-License-Identifier: MIT
// Breakpoints can change the program's action for SIGTRAP, and the SIGTRAP bit of its
// signal masks. This class restores both. It also installs the rescue (rescue.hpp).
#pragma once

#include "ptrace-agent/hold/tracees.hpp"
#include "ptrace-agent/inject/injector.hpp"
#include "ptrace-agent/trap/rescue.hpp"
#include "ptrace-agent/trap/trap_mask.hpp"

#include <span>
#include <sys/user.h>

namespace dt::agent {

// Memory that a killed agent has left in a target.
struct LeftRegion {
    TargetAddr at;
    std::uint64_t bytes;
};

class TrapSignals {
public:
    TrapSignals(Tracees& tracees, Injector& injector, TrapMask& trap_mask)
        : tracees_(tracees), injector_(injector), trap_mask_(trap_mask)
    {
    }

    // Reads the program's action for SIGTRAP from the kernel, through a system call in
    // one of the program's threads. Returns false if the program has a handler that
    // could not be read.
    bool learn_action(Process& process, Thread& thread);

    // Restores the mask and the action after one of our breakpoints has raised SIGTRAP.
    void repair_after_trap(Thread& thread);
    // Delivers a SIGTRAP that is the program's own. Returns false if the caller must
    // deliver it.
    bool deliver(Thread& thread);

    // Makes the thread's sigaction call when the thread is at a breakpoint of
    // watch_signal_calls(). If the result is false, the program must make the call itself,
    // and the caller must call see_sigaction().
    bool make_sigaction(Thread& thread, const Tracepoint& tp, user_regs_struct& user);
    // Records the action that the thread is about to set.
    static void see_sigaction(Thread& thread, const Registers& regs, bool system_call);

    // Installs the rescue. Must be called before the first breakpoint of a target is
    // written. If the result is false, the caller must not write breakpoints, because
    // no thread can make a system call now. If the target cannot have a rescue
    // (Rescue::refuse()), returns true.
    bool ensure_rescue(StoppedWorld& world);
    // If the action of a process for SIGTRAP leads to one of the regions, restores the
    // program's own action. The regions contain rescues of killed agents. Returns
    // whether the action needs none of them any more.
    bool leave_left_rescues(pid_t pid, std::span<const LeftRegion> regions);
    // Restores the program's own action in the kernel, and unmaps the rescue if no
    // thread can be in it.
    void remove_rescue(StoppedWorld& world, bool all_stopped);

private:
    void install_rescue(StoppedWorld& world);

    Tracees& tracees_;
    Injector& injector_;
    TrapMask& trap_mask_;
};

} // namespace dt::agent
