// SPDX-License-Identifier: MIT
// Attaches to a thread without a deadlock.
//
// PTRACE_SEIZE waits while any thread of the process is inside execve(2). That thread
// waits until the other threads have ended, which includes that their tracer has reaped
// them. If the agent has already seized some of them, both wait for each other. A
// signal does not end the agent's wait, because the kernel restarts the call.
#pragma once

#include "ptrace-agent/confine/relay.hpp"
#include "ptrace-agent/hold/tracing.hpp"

#include <functional>
#include <sys/types.h>
#include <vector>

namespace dt::agent {

// Returns whether this process, or its broker, traces the thread.
bool is_traced(pid_t pid, pid_t tid);

// Attaches to a thread with these options of PTRACE_SETOPTIONS. Returns 0, or the errno of
// PTRACE_SEIZE. Returns EINTR if the call waits longer than 20 ms. The caller must then
// reap its tracees before it tries again. A call that only takes long, for example
// because other processes use all CPUs, is not interrupted.
int seize(pid_t tid, int options = seize_options);

// Attaches to threads of a process that are not traced yet. Skips threads for which
// `is_known` returns true, and threads to which the kernel has attached the tracer
// because their creator is traced. Returns at most max_attached results, and nothing
// after EINTR.
//
// A thread may exit soon after the list of threads is read. So this function calls
// nothing but seize() until it has tried all of them, and begins with the newest threads.
// In a confined agent, the broker does this. It ignores `is_known`, and skips the threads
// that it knows itself.
std::vector<SeizeResult> seize_threads(pid_t pid,
                                       const std::function<bool(pid_t)>& is_known);

} // namespace dt::agent
