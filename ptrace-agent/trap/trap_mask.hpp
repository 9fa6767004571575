// SPDX-License-Identifier: MIT
// Keeps SIGTRAP unblocked in the threads of a process that has a rescue (rescue.hpp),
// and hides this from the program.
//
// If a thread hits a breakpoint while it blocks SIGTRAP, the kernel sets the action of
// the process for SIGTRAP to SIG_DFL. If the agent dies before it has repaired the
// action, the process is killed. So the kernel's mask of a thread never contains
// SIGTRAP, and the agent records whether the program's mask contains it:
//
//   attach          hide() removes SIGTRAP from the masks of all threads and from the
//                   masks of the kernel's actions for other signals.
//   rt_sigprocmask  has breakpoints in the program and in libc (watched_calls.hpp).
//                   make_sigprocmask() makes the call for the thread.
//   handler         If the action for a signal is not known, enter_handler() stops the
//                   thread at the first instruction of the handler, and removes SIGTRAP
//                   from its mask and from the mask of the action. It does the same if
//                   the signal interrupts a call that sets a mask, like sigsuspend(2).
//   rt_sigaction    begin_sigaction() restores the program's action before a thread
//                   reads or replaces it.
//   SIGTRAP         If another process sends SIGTRAP to a thread that blocks it in the
//                   program's view, withhold() blocks it in the kernel, too.
//   exec, detach    show() adds SIGTRAP to the mask of a thread again.
//
// The key of a record is the rest of the mask. So a record stays valid when a handler
// returns, and when the thread restores a mask in a way that the agent does not notice,
// for example with longjmp() or swapcontext().
//
// Not covered
// - An rt_sigprocmask(2) call without a breakpoint can block SIGTRAP. The agent notices
//   this when the thread hits a breakpoint (TrapSignals::repair_after_trap()). Such
//   calls are in libraries other than libc, in code that is created at run time, and in
//   functions that a jump has replaced.
// - In the program's own handler for SIGTRAP, SIGTRAP is blocked.
// - A handler with SA_NODEFER that blocks only SIGTRAP has the same rest of the mask as
//   the code that it interrupts. It observes the mask of that code.
// - The ucontext of a handler contains the kernel's mask.
// - While a thread waits in sigsuspend(2) or a similar call, the kernel uses the mask of
//   that call. If the agent dies before a signal arrives, the signal's handler can run
//   with SIGTRAP blocked.
// - In a forked child that is not followed, and after the agent's death, the actions
//   and masks stay without SIGTRAP.
#pragma once

#include "ptrace-agent/hold/tracees.hpp"
#include "ptrace-agent/inject/injector.hpp"
#include "ptrace-agent/plant/tracepoints.hpp"

#include <sys/user.h>

namespace dt::agent {

class TrapMask {
public:
    TrapMask(Tracees& tracees, Injector& injector)
        : tracees_(tracees), injector_(injector)
    {
    }

    // Records whether a stopped thread blocks SIGTRAP. Hides SIGTRAP if the thread's
    // process hides it.
    static void learn(Thread& thread);
    // Returns whether the program's mask contains SIGTRAP if the kernel's mask of the
    // thread is `mask`.
    static bool blocks(const Thread& thread, std::uint64_t mask);

    // Begins to hide SIGTRAP in the process that owns the memory. Called when its
    // rescue is installed.
    void hide(StoppedWorld& world);
    // Restores the program's actions and masks in all processes that use the memory.
    void show_all(StoppedWorld& world);
    // Restores the mask of a stopped thread. Does nothing if its mask is not hidden.
    static void show(Thread& thread);
    // Restores the mask of a forked child, which is stopped and not traced any more.
    static void show_in(const Thread& parent, pid_t child);
    // Restores the mask of a thread that has executed another program, and forgets the
    // records of its process.
    static void end_program(Thread& thread);
    // Copies the records of a thread to a new task that it has created.
    static void inherit(const Thread& parent, Thread& child);

    // Makes the thread's rt_sigprocmask(2) call when the thread is at a breakpoint with
    // the purpose `mask_call`. If the result is false, the program must make the call
    // itself.
    bool make_sigprocmask(Thread& thread, const Tracepoint& tp, user_regs_struct& user);
    // Restores the program's action for a signal. Called before a thread calls
    // sigaction().
    void begin_sigaction(Thread& thread, std::uint64_t signal);
    // Delivers a signal to a thread. Returns false if the caller must deliver it.
    bool enter_handler(Thread& thread, int signal);
    // Blocks SIGTRAP in the kernel if the thread has stopped for a SIGTRAP of the
    // program that the program blocks. The signal becomes pending again, and the thread
    // is resumed. Returns false if the caller must deliver the signal.
    bool withhold(Thread& thread, const siginfo_t& info);
    // Returns whether SIGTRAP is blocked in the kernel because of withhold(). The next
    // SIGTRAP of the thread is then that of a breakpoint.
    static bool withholds(const Thread& thread);
    // Makes a withheld SIGTRAP pending again after a breakpoint was hit. If the program
    // has taken the SIGTRAP, ends the withholding.
    static void keep_waiting(Thread& thread);

private:
    static void record(Thread& thread, std::uint64_t mask, bool blocks);
    void learn_action(Thread& thread, int signal);

    Tracees& tracees_;
    Injector& injector_;
};

// Delivers the signal to a stopped thread, and lets the thread stop at the first
// instruction of the handler. If the result is false, the thread has stopped for another
// reason or has exited, and the caller must not access it any more.
bool step_into_handler(Tracees& tracees, Thread& thread, int signal);

} // namespace dt::agent
