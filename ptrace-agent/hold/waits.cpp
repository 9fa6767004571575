// SPDX-License-Identifier: MIT
// The kernel restarts most interrupted system calls if no signal handler runs, but not
// the calls below (signal(7), "Interruption of system calls and library functions by
// stop signals"). In a program without handlers, these calls return EINTR only if the
// program is stopped.
#include "ptrace-agent/hold/waits.hpp"

#include "ptrace-agent/hold/tracing.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <sys/syscall.h>

namespace dt::agent {

// Calls that have done nothing if they fail with EINTR. They can therefore be repeated.
// A repeated connect(2) continues to wait for the connection, and fails with EALREADY
// if its timeout expires. The kernel does not restart calls on sockets that have a
// timeout (SO_RCVTIMEO, SO_SNDTIMEO), so all calls that can act on sockets are in the
// list. ptrace(2) also mentions read(2) from an inotify(7) descriptor.
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
    // This result makes the kernel repeat the call. If a signal handler runs first, the
    // call returns EINTR instead.
    user.rax = static_cast<std::uint64_t>(-restart_no_hand);
    set_regs(tid, user);
}

} // namespace dt::agent
