// SPDX-License-Identifier: MIT
// Attaches to a thread without a deadlock.
//
// PTRACE_SEIZE waits while any thread of the process is inside execve(2). That thread
// waits until the other threads have ended, which includes that their tracer has reaped
// them. If the agent has already seized some of them, both wait for each other. A
// signal does not end the agent's wait, because the kernel restarts the call.
#pragma once

#include "ptrace-agent/hold/tracing.hpp"

#include <sys/types.h>

namespace dt::agent {

// Attaches to a thread with these options of PTRACE_SETOPTIONS. Returns 0, or the errno of
// PTRACE_SEIZE. Returns EINTR if the call has not returned after 20 ms. The caller must
// then reap its tracees before it tries again.
int seize(pid_t tid, int options = seize_options);

} // namespace dt::agent
