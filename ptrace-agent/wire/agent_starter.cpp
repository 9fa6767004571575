// SPDX-License-Identifier: MIT
#include "ptrace-agent/wire/agent_starter.hpp"

#include "base/fd_message.hpp"
#include "base/no_signals.hpp"
#include "base/pidfd.hpp"
#include "base/seccomp_filter.hpp"
#include "ptrace-agent/wire/protocol.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <poll.h>
#include <sched.h>
#include <span>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dt {

namespace {

constexpr int reply_timeout_ms = 10'000;
constexpr int exit_timeout_ms = 1000;

// The main function of the starter. Signals from the terminal are also sent to dtrace,
// which then ends the starter.
[[noreturn]] void serve(const Fd& socket)
{
    ::prctl(PR_SET_NAME, "ptrace-starter");
    // Descriptors 0, 1 and 2 are kept for the commands that an agent starts.
    const auto own = static_cast<unsigned>(socket.get());
    close_between(3, own - 1);
    close_between(std::max(own + 1, 3u), ~0u);
    for (;;) {
        std::byte byte{};
        Fd agent_end;
        receive_with_fds(socket.get(), std::span(&byte, 1), std::span(&agent_end, 1));
        if (!agent_end)
            ::_exit(0); // dtrace has exited
        const long pid =
            ::syscall(SYS_clone, CLONE_PARENT | SIGCHLD, nullptr, nullptr, nullptr, 0);
        if (pid == 0) {
            agent::run_agent(std::move(agent_end));
            ::_exit(0);
        }
        const int reply = pid < 0 ? -errno : static_cast<int>(pid);
        (void)::send(socket.get(), &reply, sizeof reply, MSG_NOSIGNAL);
    }
}

} // namespace

AgentStarter::AgentStarter(Fd socket, pid_t pid)
    : socket_(std::move(socket)), pid_(pid), exit_(open_pidfd(pid))
{
}

AgentStarter::~AgentStarter()
{
    if (!socket_)
        return;
    socket_.reset();
    pollfd exit{exit_.get(), POLLIN, 0};
    if (exit_)
        (void)::poll(&exit, 1, exit_timeout_ms);
    ::waitpid(pid_, nullptr, WNOHANG);
}

Result<AgentStarter> AgentStarter::begin()
{
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return errno_error("start the ptrace-starter: socketpair");
    Fd own(ends[0]);
    const Fd other(ends[1]);
    // The two processes must not both print buffered output.
    ::fflush(nullptr);
    const NoSignals during_fork;
    const pid_t pid = ::fork();
    if (pid < 0)
        return errno_error("start the ptrace-starter: fork");
    if (pid == 0)
        serve(other);
    return AgentStarter(std::move(own), pid);
}

Result<pid_t> AgentStarter::start(Fd agent_end)
{
    const Error ended{Code::gone,
                      "start the ptrace-agent: the ptrace-starter does not reply"};
    const std::byte byte{};
    const int number = agent_end.get();
    if (send_with_fds(socket_.get(), std::span(&byte, 1), std::span(&number, 1)) != 1)
        return ended;
    pollfd reply{socket_.get(), POLLIN, 0};
    int ready = 0;
    do
        ready = ::poll(&reply, 1, reply_timeout_ms);
    while (ready < 0 && errno == EINTR);
    int pid = 0;
    if (ready != 1 ||
        ::recv(socket_.get(), &pid, sizeof pid, MSG_DONTWAIT) != sizeof pid)
        return ended;
    if (pid < 0) {
        errno = -pid;
        return errno_error("start the ptrace-agent: clone");
    }
    return pid_t{pid};
}

} // namespace dt
