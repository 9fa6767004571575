// SPDX-License-Identifier: MIT
#include "process/jail/start_jailed.hpp"

#include "base/no_signals.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
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
        if (parent == Parent::init && ::fork() != 0)
            ::_exit(0); // if this fork fails, the caller finds a closed socket
        reset_signals();
        own.reset();
        ::prctl(PR_SET_NAME, name, 0, 0, 0);
        serve(std::move(others));
        ::_exit(0);
    }
    if (parent == Parent::caller)
        return JailedProcess{std::move(own), pid};
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    return JailedProcess{std::move(own), 0};
}

} // namespace dt
