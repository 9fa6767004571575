// SPDX-License-Identifier: MIT
// Keeps SIGTRAP unblocked in the threads of a process that has a rescue (rescue.hpp),
// and hides this from the program.
//
// If a thread hits a breakpoint while it blocks SIGTRAP, the kernel sets the action of
// the process for SIGTRAP to SIG_DFL. If the agent dies before it has repaired the
// action, the process is killed. So the agent removes SIGTRAP from the kernel's masks of
// the threads, and records whether the program's mask contains it:
//
//   rescue          When the rescue is installed, before the first breakpoint, hide()
//                   removes SIGTRAP from the masks of all threads of the process, and
//                   from the masks of the kernel's actions for other signals.
//   rt_sigprocmask  has breakpoints in the program and in libc (watched_calls.hpp).
//                   make_sigprocmask() makes the call for the thread.
//   handler         If the action for a signal is not known, enter_handler() stops the
//                   thread at the first instruction of the handler, and removes SIGTRAP
//                   from its mask and from the mask of the action. It does the same if
//                   the signal interrupts a call that sets a mask, like sigsuspend(2).
//   rt_sigaction    begin_sigaction() restores the program's action before a thread
//                   reads it, and forgets it.
//   SIGTRAP         If SIGTRAP is sent to a thread for which the program blocks it,
//                   withhold() blocks it in the kernel until the program takes it.
//   exec, detach    show() adds SIGTRAP to the mask of a thread again if the program
//                   blocks it.
//
// The key of a record is a mask without SIGTRAP, and its value is whether the program
// also blocks SIGTRAP. So a record stays valid when a handler returns, and when the
// thread restores a mask in a way that the agent does not notice, for example with
// longjmp() or swapcontext().
//
// Not covered
// - An rt_sigprocmask(2) call without a breakpoint can block SIGTRAP. The agent notices
//   this when the thread hits a breakpoint (TrapSignals::repair_after_trap()). Such
//   calls are in libraries other than libc, in code that is created at run time, in
//   libc's syscall() and getcontext(), in functions that a jump has replaced, and in
//   text that watched_calls.cpp does not recognize or that is too large to scan.
// - In the program's own handler for SIGTRAP, SIGTRAP is blocked.
// - After the program has read or set an action, the mask of the kernel's action can
//   contain SIGTRAP until the signal is delivered. If the agent dies before that, the
//   signal's handler can run with SIGTRAP blocked.
// - If the agent detaches while a thread is in a handler, the interrupted code continues
//   with SIGTRAP unblocked.
// - If a handler with SA_NODEFER adds only SIGTRAP to the mask, its record has the same
//   key as that of the interrupted code. The handler then finds SIGTRAP unblocked if
//   that code does.
// - The ucontext of a handler contains the kernel's mask, so a program that reads
//   uc_sigmask does not find SIGTRAP in it.
// - While a thread waits in sigsuspend(2) or a similar call, the kernel uses the mask of
//   that call. If the agent dies before a signal arrives, the signal's handler can run
//   with SIGTRAP blocked.
// - In a forked child that is not followed, the masks of the actions stay without
//   SIGTRAP. After the agent's death, so do the masks of the threads.
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
    // Restores the mask of a stopped forked child, from which the caller will detach.
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
    // Called before a thread calls sigaction(), with the registers of the call. Restores
    // the program's action if the thread will read it.
    void begin_sigaction(Thread& thread, const user_regs_struct& user);
    // Must be called before a signal is delivered. Records the mask that its handler will
    // have. If that is not known, delivers the signal, stops the thread in the handler,
    // and returns true. The thread may then have exited.
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
    void learn_action(Thread& thread, int signal,
                      std::optional<TargetAddr> room = std::nullopt);

    Tracees& tracees_;
    Injector& injector_;
};

// Delivers the signal to a stopped thread, and lets the thread stop at the first
// instruction of the handler. If the result is false, the thread has stopped for another
// reason or has exited, and the caller must not access it any more.
bool step_into_handler(Tracees& tracees, Thread& thread, int signal);

} // namespace dt::agent
