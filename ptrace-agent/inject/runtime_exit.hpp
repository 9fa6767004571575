// SPDX-License-Identifier: MIT
// Takes a thread out of our code, because a signal came for it or because the code is
// about to be removed.
//
//   for a signal   The signal is deferred. The gate is shut and the thread runs until it
//                  waits there. Moved instructions that remain are emulated, or stepped if
//                  they cannot be emulated. Then the signal is sent again, and gets its own
//                  siginfo back when it arrives.
//   for removal    From the gate, or from a trampoline, the registers say which instruction
//                  of the original text comes next; the thread continues there.
//
// Signals that arrive meanwhile are deferred, too (hold/deferred_signals.hpp). A flood of
// signals would keep the thread from making progress: from the eighth on they are blocked
// while it runs in our code. If the agent dies in those microseconds, deferred signals are
// lost, and the thread restores its mask on its way out (runtime.h, masked_tid), unless a
// seccomp filter forbids to rely on system calls.
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

    // Takes a stopped thread out of our code, sends its deferred signals and resumes it.
    void deliver_deferred(Thread& thread);
    // Stops the threads whose signal queue had no space, so that it is tried again.
    void retry_full_queues();
    // Takes a stopped thread back to the original text, in which no jump of ours is left.
    // Returns false if it ended or does not stop. A fault of a moved instruction remains the
    // thread's stop, already shown as the program's. If our code faults by itself, because
    // the program has overwritten or unmapped it, the target is given up.
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
