// SPDX-License-Identifier: MIT
// Descriptors that refer to a process (pidfd_open(2)), which another process with the
// same id cannot replace.
#pragma once

#include "base/fd.hpp"

#include <csignal>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

namespace dt {

// Returns an empty Fd if the process does not exist, and before Linux 5.3.
inline Fd open_pidfd(pid_t pid)
{
    return Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

// An empty pidfd counts as a process that has exited.
inline bool has_exited(const Fd& pidfd)
{
    pollfd end{pidfd.get(), POLLIN, 0};
    return !pidfd || ::poll(&end, 1, 0) != 0;
}

// Ignores an empty pidfd.
inline void kill_process(const Fd& pidfd)
{
    if (pidfd)
        ::syscall(SYS_pidfd_send_signal, pidfd.get(), SIGKILL, nullptr, 0);
}

} // namespace dt
