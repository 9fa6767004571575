// SPDX-License-Identifier: MIT
// System calls that end with EINTR when their thread is stopped, although no signal came.
#pragma once

#include <sys/types.h>

namespace dt::agent {

// After PTRACE_INTERRUPT has stopped a thread: lets it make the system call again when
// nothing but the stop has ended it. A wait with a timeout begins anew.
void repeat_wait(pid_t pid, pid_t tid);

} // namespace dt::agent
