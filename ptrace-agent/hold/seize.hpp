// SPDX-License-Identifier: MIT
// Attaches to a thread without a deadlock.
//
// PTRACE_SEIZE waits while any thread of the process is inside execve(2). That thread
// waits until the other threads have ended, which includes that their tracer has reaped
// them. If the agent has already seized some of them, both wait for each other. A
// signal does not end the agent's wait, because the kernel restarts the call.
#pragma once

#include "ptrace-agent/hold/tracing.hpp"

#include <span>
#include <sys/types.h>
#include <vector>

namespace dt::agent {

// Attaches to a thread with these options of PTRACE_SETOPTIONS. Returns 0, or the errno of
// PTRACE_SEIZE. Returns EINTR if the call waits longer than 20 ms. The caller must then
// reap its tracees before it tries again. A call that only takes long, for example
// because other processes use all CPUs, is not interrupted.
int seize(pid_t tid, int options = seize_options);

// Attaches to some of the threads, in this order, with seize(). Returns at least one
// result, and nothing after EINTR. A confined agent needs only one message for up to
// max_attached threads. This matters for threads that exit soon.
std::vector<int> seize_in_turn(std::span<const pid_t> tids);

} // namespace dt::agent
