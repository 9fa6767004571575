// SPDX-License-Identifier: MIT
// The status that waitpid(2) returns to the tracer of a thread (ptrace(2)).
#pragma once

#include <csignal>
#include <sys/ptrace.h>
#include <sys/wait.h>

namespace dt {

struct WaitStatus {
    int raw = 0;

    // Returns whether the thread is stopped. Otherwise it has exited.
    bool is_stopped() const { return WIFSTOPPED(raw); }
    // Returns the signal that stopped the thread.
    int signal() const { return WSTOPSIG(raw); }
    // Returns the PTRACE_EVENT_* of a stop, or 0 if the stop is for a signal or a
    // system call.
    int event() const { return raw >> 16; }
    // Returns whether this is a group-stop, which stops the entire process. The thread
    // must have been attached with PTRACE_SEIZE.
    bool is_group_stop() const
    {
        return event() == PTRACE_EVENT_STOP && signal() != SIGTRAP;
    }
    // Returns whether the thread is entering or leaving a system call
    // (PTRACE_O_TRACESYSGOOD).
    bool is_in_system_call() const
    {
        return event() == 0 && signal() == (SIGTRAP | 0x80);
    }
};

} // namespace dt
