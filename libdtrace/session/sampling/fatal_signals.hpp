// SPDX-License-Identifier: MIT
// The signals that end processes, by the kernel's tracepoints signal_generate and
// signal_deliver.
//
// If a signal ends a process, the kernel usually replaces it with SIGKILL, which it
// delivers to each thread. It also delivers SIGKILL to the other threads if a thread calls
// exit_group(2) or execve(2). So SIGKILL ends a process only if a signal was generated for
// this process before.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <sys/types.h>

namespace dt {

struct RecordedSignal {
    int number = 0, code = 0, error = 0; // si_signo, si_code and si_errno
};

class FatalSignals {
public:
    // Called when a signal has been generated for a process, and is not ignored.
    void generate(pid_t pid, const RecordedSignal& signal);
    // Called when a signal is delivered to a thread of a process. Returns the signal that
    // the process handles. Returns nullopt if the kernel only ends the thread, or if the
    // signal has no effect.
    std::optional<RecordedSignal> deliver(pid_t pid, const RecordedSignal& signal,
                                          bool has_handler);
    // Called when a process has executed another program, and when a new process has the
    // id of one that has exited.
    void forget(pid_t pid);
    // Called when a process has exited. Returns whether a signal has ended it.
    bool exit(pid_t pid);

private:
    std::map<pid_t, RecordedSignal> generated_;
    std::set<pid_t> ended_;
};

} // namespace dt
