// SPDX-License-Identifier: MIT
// Repeats system calls that fail with EINTR because the calling thread was stopped,
// although no signal has arrived.
#pragma once

#include <sys/types.h>

namespace dt::agent {

// Makes the kernel repeat the system call that a stop of this thread has interrupted,
// unless a signal handler runs first. A repeated call with a timeout waits for the full
// timeout again.
void repeat_wait(pid_t tid);

} // namespace dt::agent
