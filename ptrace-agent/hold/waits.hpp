// SPDX-License-Identifier: MIT
// System calls that end with EINTR when their thread is stopped, although no signal
// arrived.
#pragma once

#include <sys/types.h>

namespace dt::agent {

// Makes the kernel repeat the system call that a stop of this thread has ended, unless
// a handler runs first. A wait with a timeout then begins again with its complete time.
void repeat_wait(pid_t tid);

} // namespace dt::agent
