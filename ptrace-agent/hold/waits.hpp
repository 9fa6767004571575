// SPDX-License-Identifier: MIT
// System calls that end with EINTR when their thread is stopped, although no signal came.
#pragma once

#include <sys/types.h>

namespace dt::agent {

// Of a thread whose stop has ended a wait: the kernel makes the system call again unless a
// handler runs first. A wait with a timeout begins anew.
void repeat_wait(pid_t tid);

} // namespace dt::agent
