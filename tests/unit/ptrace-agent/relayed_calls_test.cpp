// SPDX-License-Identifier: MIT
// Tests the messages of a confined agent. The tests act as its broker, so they choose
// the order of the replies.
#include "ptrace-agent/confine/relayed_calls.hpp"

#include "base/fd.hpp"
#include "ptrace-agent/confine/relay.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace dt;
using namespace dt::agent;

namespace {

constexpr pid_t first_thread = 1000, second_thread = 2000;
constexpr int any_report = WEXITED | WSTOPPED | __WALL | WNOWAIT;

// Waits for a report, takes it, resumes the thread, and waits for the next report.
// Returns 0 if the reports are those of the two threads.
int run_agent(Fd socket)
{
    struct sigaction action {};
    action.sa_handler = [](int) {}; // without SA_RESTART
    ::sigaction(SIGUSR1, &action, nullptr);
    if (!relay_calls(socket.release()))
        return 1;
    siginfo_t report{};
    while (relay_waitid(P_ALL, 0, report, any_report) != 0)
        if (errno != EINTR)
            return 2;
    int status = 0;
    if (report.si_pid != first_thread ||
        relay_waitpid(first_thread, status, __WALL) != first_thread ||
        relay_ptrace(PTRACE_CONT, first_thread, 0, nullptr) != 0)
        return 3;
    report = {};
    if (relay_waitid(P_ALL, 0, report, any_report) != 0)
        return 4;
    return report.si_pid == second_thread ? 0 : 5;
}

// Sends a report of a stop, as the reply to a relayed_await or to another request (0).
bool send_stop(const Fd& socket, pid_t tid, std::uint64_t await_number)
{
    RelayReply reply{};
    siginfo_t report{};
    report.si_signo = SIGCHLD;
    report.si_code = CLD_TRAPPED;
    report.si_status = SIGTRAP;
    report.si_pid = tid;
    std::memcpy(reply.bytes.data(), &report, sizeof report);
    const StopState state{};
    std::memcpy(reply.bytes.data() + stop_state_at, &state, sizeof state);
    reply.head.n_bytes = stop_state_at + sizeof state;
    reply.head.await_number = await_number;
    return reply.send(socket.get());
}

// Receives the next request. Interrupts the agent's waits meanwhile if `agent` is not 0.
// Returns false if the agent sends nothing for ten seconds, or has exited.
bool receive(const Fd& socket, RelayRequest& request, pid_t agent = 0)
{
    constexpr int max_ms = 10'000;
    Fd file;
    pollfd message{socket.get(), POLLIN, 0};
    for (int ms = 0; ms < max_ms; ++ms) {
        if (::poll(&message, 1, 1) == 1)
            return request.receive(socket.get(), file);
        if (agent != 0)
            ::kill(agent, SIGUSR1);
    }
    return false;
}

TEST(RelayedCalls, ReportAStopOnceIfTwoRepliesContainIt)
{
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
    Fd broker(ends[0]), socket(ends[1]);
    const pid_t agent = ::fork();
    if (agent == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        broker.reset();
        ::_exit(run_agent(std::move(socket)));
    }
    socket.reset();
    RelayRequest request{};
    ASSERT_TRUE(receive(broker, request));
    ASSERT_EQ(request.head.call, relayed_await);
    const std::uint64_t number = request.head.args[4];
    ASSERT_TRUE(receive(broker, request, agent));
    ASSERT_EQ(request.head.call, SYS_waitid); // the agent's wait was interrupted
    ASSERT_TRUE(send_stop(broker, first_thread, 0));
    ASSERT_TRUE(
        send_stop(broker, first_thread, number)); // before the thread is resumed
    ASSERT_TRUE(receive(broker, request));
    EXPECT_EQ(request.head.call, relayed_batch);
    EXPECT_TRUE(receive(broker, request));
    EXPECT_EQ(request.head.call, relayed_await);
    EXPECT_TRUE(send_stop(broker, second_thread, request.head.args[4]));
    int status = 0;
    ::waitpid(agent, &status, 0);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

} // namespace
