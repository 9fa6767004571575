// SPDX-License-Identifier: MIT
#include "process/jail/start_jailed.hpp"

#include "base/fd_message.hpp"
#include "base/no_signals.hpp"
#include "base/pidfd.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <fcntl.h>
#include <span>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dt {

namespace {

// Resets the signal handlers that the caller has installed. Ignores SIGINT and similar
// signals, because the terminal also sends them to the caller, which then ends the
// process.
void reset_signals()
{
    for (int number = 1; number < NSIG; number++)
        std::signal(number, SIG_DFL);
    for (int number : {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE})
        std::signal(number, SIG_IGN);
    sigset_t none;
    sigemptyset(&none);
    ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
}

// Sends one byte, with a descriptor unless `fd` is empty.
void send_descriptor(const Fd& socket, const Fd& fd)
{
    const std::byte byte{};
    const int number = fd.get();
    (void)send_with_fds(socket.get(), std::span(&byte, 1),
                        std::span(&number, fd ? 1U : 0U));
}

// Receives what send_descriptor() has sent. Does not wait.
Fd receive_descriptor(const Fd& socket)
{
    std::byte byte{};
    Fd fd;
    receive_with_fds(socket.get(), std::span(&byte, 1), std::span(&fd, 1),
                     MSG_DONTWAIT);
    return fd;
}

// Forks again and returns in the grandchild, so that init becomes its parent. The
// intermediate process sends a pidfd of the grandchild through the socket and exits.
void leave_parent(const Fd& socket)
{
    const pid_t pid = ::fork();
    if (pid == 0)
        return;
    if (pid > 0)
        send_descriptor(socket, open_pidfd(pid));
    ::_exit(0); // if the fork failed, the caller's socket is closed now
}

} // namespace

Result<JailedProcess> start_jailed(const char* name,
                                   const std::function<void(Fd)>& serve, Parent parent)
{
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
        return errno_error("socketpair");
    // If the caller was started without standard descriptors, the socket may have the
    // number 0, 1 or 2. The jail uses these numbers for /dev/null.
    Fd own(ends[0]), low(ends[1]), others(::fcntl(low.get(), F_DUPFD_CLOEXEC, 3));
    low.reset();
    if (!others)
        return errno_error("fcntl");
    NoSignals during_fork;
    const pid_t pid = ::fork();
    if (pid < 0)
        return errno_error("fork");
    if (pid == 0) {
        if (parent == Parent::init)
            leave_parent(others);
        reset_signals();
        own.reset();
        ::prctl(PR_SET_NAME, name, 0, 0, 0);
        serve(std::move(others));
        ::_exit(0);
    }
    if (parent == Parent::caller)
        return JailedProcess{std::move(own), pid, {}};
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    Fd pidfd = receive_descriptor(own);
    return JailedProcess{std::move(own), 0, std::move(pidfd)};
}

} // namespace dt
