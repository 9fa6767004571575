// SPDX-License-Identifier: MIT
// Repeats system calls that fail with EINTR because the calling thread was stopped.
#pragma once

#include <sys/types.h>

namespace dt::agent {

// Makes the kernel repeat the interrupted system call, unless a signal handler runs
// first. A call with a timeout waits for the full timeout again.
void repeat_wait(pid_t tid);

} // namespace dt::agent
