// SPDX-License-Identifier: MIT
// The kernel restarts most interrupted system calls if no signal handler runs. It does
// not restart the calls in this file. After a stop, they return EINTR even in a program
// without handlers (signal(7), "Interruption of system calls and library functions by
// stop signals").
#include "ptrace-agent/hold/waits.hpp"

#include "ptrace-agent/hold/tracing.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <sys/syscall.h>

namespace dt::agent {

// Calls that can be repeated, because they have done nothing if they fail with EINTR. A
// repeated connect(2) continues to wait, and fails with EALREADY if its timeout
// expires. All calls on sockets are in the list, because the kernel does not restart
// them on sockets with a timeout (SO_RCVTIMEO, SO_SNDTIMEO). read(2) is also needed for
// inotify(7).
constexpr std::array repeatable = {
    SYS_epoll_wait, SYS_epoll_pwait, SYS_epoll_pwait2, SYS_rt_sigtimedwait,
    SYS_semop,      SYS_semtimedop,  SYS_io_getevents, SYS_io_pgetevents,
    SYS_accept,     SYS_accept4,     SYS_connect,      SYS_io_uring_enter,
    SYS_recvfrom,   SYS_recvmsg,     SYS_recvmmsg,     SYS_read,
    SYS_sendto,     SYS_sendmsg,     SYS_sendmmsg,     SYS_readv,
    SYS_write,      SYS_writev,
};

void repeat_wait(pid_t tid)
{
    constexpr std::int64_t restart_no_hand = 514; // the kernel's ERESTARTNOHAND
    user_regs_struct user;
    if (!get_regs(tid, user) || static_cast<std::int64_t>(user.rax) != -EINTR)
        return;
    auto call = static_cast<long>(user.orig_rax); // negative outside a system call
    if (std::find(repeatable.begin(), repeatable.end(), call) == repeatable.end())
        return;
    // This result makes the kernel repeat the call, unless a signal handler runs first.
    user.rax = static_cast<std::uint64_t>(-restart_no_hand);
    set_regs(tid, user);
}

} // namespace dt::agent
