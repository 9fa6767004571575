// SPDX-License-Identifier: MIT
// Moves a thread from our code back into the program, because a signal has arrived
// for the thread or because the code is about to be removed.
//
//   for a signal   The signal is deferred. The agent shuts the gate (doorbells.hpp), so
//                  that a thread that leaves the runtime waits there. The thread runs
//                  to the gate. The remaining moved instructions are emulated, or
//                  single-stepped if that is not possible. Then the signal is sent
//                  again. When the thread stops for the signal, the agent restores the
//                  original siginfo of the signal.
//   for removal    A thread in the runtime first runs to the gate. At the gate and in a
//                  trampoline, the registers show which instruction of the original
//                  text is next. The thread continues there.
//
// Signals that arrive before the thread has left our code are deferred, too
// (hold/deferred_signals.hpp). A flood of signals would prevent the thread from making
// progress. So after eight deferred signals the agent blocks signals while the thread
// runs in our code. If the agent dies during that time, deferred signals are lost, and
// the thread restores its own mask when it leaves the runtime (runtime.h, masked_tid).
// A thread under seccomp does not restore its mask, because its filter could forbid the
// system call. Its signals then stay blocked.
#pragma once

#include "ptrace-agent/hold/tracees.hpp"
#include "ptrace-agent/inject/probe_context.hpp"
#include "ptrace-agent/inject/upcalls.hpp"
#include "ptrace-agent/wire/alarms.hpp"
#include "ptrace-agent/wire/client_link.hpp"

namespace dt::agent {

class RuntimeExit {
public:
    RuntimeExit(Tracees& tracees, ClientLink& client, Alarms& alarms, Upcalls& upcalls,
                ProbeContext& probe_context)
        : tracees_(tracees), client_(client), alarms_(alarms), upcalls_(upcalls),
          probe_context_(probe_context)
    {
    }

    // Moves a stopped thread back into the program, sends its deferred signals again
    // and resumes it.
    void deliver_deferred(Thread& thread);
    // Interrupts the threads with deferred signals that did not fit into the kernel's
    // queue, so that these signals are sent again. Does nothing unless the alarm
    // Alarms::full_queue is due.
    void retry_full_queues();
    // Takes a stopped thread back to the original text, from which our jumps have been
    // removed. Returns false if the thread exits or does not stop in time. There are
    // two special cases:
    //   - A moved instruction faults. The thread remains stopped for the fault. The
    //     address of the fault is changed to that of the original instruction.
    //   - Our code itself faults, because the program has changed or unmapped it. Then
    //     the agent gives up on the target.
    bool run_out(Thread& thread, Try which);

private:
    bool run_in_our_code(Thread& thread, int request, Try which = Try::last);
    bool run_to_program(Thread& thread, bool& ran);
    bool run_to_gate(Thread& thread, Try which = Try::last);

    Tracees& tracees_;
    ClientLink& client_;
    Alarms& alarms_;
    Upcalls& upcalls_;
    ProbeContext& probe_context_;
};

} // namespace dt::agent
