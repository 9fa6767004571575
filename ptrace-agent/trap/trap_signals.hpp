// SPDX-License-Identifier: MIT
// Breakpoints can change the program's action for SIGTRAP, and the SIGTRAP bit of its
// signal masks. This class restores both. It also installs the handler that restores
// the text if the agent dies (rescue.hpp).
#pragma once

#include "ptrace-agent/hold/tracees.hpp"
#include "ptrace-agent/inject/injector.hpp"
#include "ptrace-agent/trap/rescue.hpp"

#include <sys/user.h>

namespace dt::agent {

class TrapSignals {
public:
    TrapSignals(Tracees& tracees, Injector& injector)
        : tracees_(tracees), injector_(injector)
    {
    }

    // Records whether the signal mask of a stopped thread contains SIGTRAP.
    static void learn_mask(Thread& thread);
    // Reads the program's action for SIGTRAP from the kernel, through a system call in
    // one of the program's threads.
    void learn_action(Process& process, Thread& thread);

    // Restores the mask and the action after the kernel has forced a SIGTRAP on the thread
    // because of our breakpoint.
    void repair_after_trap(Thread& thread);
    // Delivers a SIGTRAP that is the program's own. Returns false if the caller must
    // deliver it.
    bool deliver(Thread& thread);

    // Writes breakpoints at the places where the program can change its action for
    // SIGTRAP: sigaction() of libc, and rt_sigaction(2) calls in the program itself.
    static void watch_sigaction(StoppedWorld& world);
    // Called when a thread reaches a breakpoint that watch_sigaction() wrote. Makes the
    // thread's sigaction call on the program's behalf. Returns false if the program must
    // make the call itself. The caller must then record the new action with
    // see_sigaction().
    bool make_sigaction(Thread& thread, const Tracepoint& tp, user_regs_struct& user);
    // Records the action that the program is about to set at a breakpoint that
    // watch_sigaction() wrote.
    static void see_sigaction(Thread& thread, const Registers& regs, bool system_call);

    // Installs the rescue before the first breakpoint of a target is written. Returns
    // false if no thread can make a system call now, for example in a frozen process.
    // The caller must then write no breakpoints, because nothing would restore the text
    // if the agent died. If the rescue was refused for another reason
    // (Rescue::refuse()), returns true, and breakpoints are written without it.
    bool ensure_rescue(StoppedWorld& world);
    // Restores the program's own action in the kernel, and unmaps the rescue if no
    // thread can be in it.
    void remove_rescue(StoppedWorld& world, bool all_stopped);

private:
    void install_rescue(StoppedWorld& world);
    bool exchange_action(Thread& thread, const KernelAction* wanted,
                         KernelAction* previous);

    Tracees& tracees_;
    Injector& injector_;
};

} // namespace dt::agent
