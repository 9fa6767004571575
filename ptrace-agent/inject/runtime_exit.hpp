// SPDX-License-Identifier: MIT
// Moves a thread from our code back into the program, because a signal has arrived for
// the thread or because our code is about to be removed.
//
//   for a signal   The signal is deferred. The thread runs to the gate (doorbells.hpp),
//                  which the agent has shut. The remaining moved instructions are
//                  emulated. If that is not possible, the thread runs until it is in
//                  the program's code. Then the signal is sent again.
//   for removal    A thread in the runtime runs to the gate. The registers show which
//                  instruction of the original text is next. The thread continues at
//                  that instruction.
//
// After eight deferred signals (hold/deferred_signals.hpp), the agent blocks signals
// while the thread runs in our code. Otherwise the thread might make no progress. If
// the agent dies during that time, deferred signals are lost. The thread then restores
// its own signal mask (masked_tid in runtime.h), except under seccomp.
#pragma once

#include "ptrace-agent/hold/tracees.hpp"
#include "ptrace-agent/inject/probe_context.hpp"
#include "ptrace-agent/inject/upcalls.hpp"
#include "ptrace-agent/wire/alarms.hpp"

namespace dt::agent {

class RuntimeExit {
public:
    RuntimeExit(Tracees& tracees, Alarms& alarms, Upcalls& upcalls,
                ProbeContext& probe_context)
        : tracees_(tracees), alarms_(alarms), upcalls_(upcalls),
          probe_context_(probe_context)
    {
    }

    // Moves a stopped thread back into the program, sends its deferred signals again
    // and resumes it.
    void deliver_deferred(Thread& thread);
    // Interrupts the threads whose deferred signals did not fit into the kernel's
    // queue, so that the signals are sent again. Does nothing unless Alarms::full_queue
    // is due.
    void retry_full_queues();
    // Takes a stopped thread back to the original text, after our jumps have been
    // removed. Returns false if the thread exits or does not stop in time. If a moved
    // instruction faults, the thread remains stopped for the fault, with the address of
    // the original instruction. If our code itself faults, the agent gives up on the
    // target.
    bool run_out(Thread& thread, Try which);
    // Runs a stopped thread in the runtime to the gate, which the caller has shut.
    // Without doorbells there is no gate, and the thread is single-stepped once. Returns
    // false if the thread exits or does not stop in time.
    bool run_to_gate(Thread& thread, Try which = Try::last);

private:
    enum class Resume {
        until_stop, // until the thread stops by itself or waits at the gate
        briefly,    // the same, but the thread is also interrupted immediately
        one_step,   // for one instruction
    };
    bool run_in_our_code(Thread& thread, Resume resume, Try which = Try::last);
    bool run_to_program(Thread& thread, int n_runs, bool& ran);

    Tracees& tracees_;
    Alarms& alarms_;
    Upcalls& upcalls_;
    ProbeContext& probe_context_;
};

} // namespace dt::agent
