// SPDX-License-Identifier: MIT
// Tests the subscription to process events. A pair of sockets takes the kernel's place.
#include "libdtrace/session/new_processes.hpp"

#include "base/clock_ns.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <gtest/gtest.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

namespace dt {
namespace {

constexpr pid_t executed = 0x3fffff01; // no process has this pid

struct NewProcessesTest : testing::Test {
    Fd ours, kernel;

    void SetUp() override
    {
        int ends[2];
        ASSERT_EQ(::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, ends), 0);
        ours = Fd(ends[0]);
        kernel = Fd(ends[1]);
    }
    void send(std::uint32_t ack, const proc_event& event) const
    {
        cn_msg message{};
        message.id = {CN_IDX_PROC, CN_VAL_PROC};
        message.ack = ack;
        message.len = sizeof event;
        std::vector<char> data(NLMSG_HDRLEN + sizeof message + sizeof event);
        std::memcpy(&data[NLMSG_HDRLEN], &message, sizeof message);
        std::memcpy(&data[NLMSG_HDRLEN + sizeof message], &event, sizeof event);
        EXPECT_EQ(::send(kernel.get(), data.data(), data.size(), 0),
                  static_cast<ssize_t>(data.size()));
    }
    void send_exec() const
    {
        proc_event event{};
        event.what = proc_event::PROC_EVENT_EXEC;
        event.event_data.exec.process_pid = executed;
        event.event_data.exec.process_tgid = executed;
        send(0, event);
    }
    // Answers the subscription of the process `listener`.
    void answer(pid_t listener, int error) const
    {
        proc_event event{};
        event.what = proc_event::PROC_EVENT_NONE;
        event.event_data.ack.err = static_cast<__u32>(error);
        send(static_cast<std::uint32_t>(listener) + 1, event);
    }
};

TEST_F(NewProcessesTest, AreReadFromProcIfTheKernelRefusesAfterAnEvent)
{
    NewProcesses processes;
    send_exec();
    answer(::getpid(), EPERM);
    EXPECT_FALSE(processes.wait_for_answer(ours.get()));
}

TEST_F(NewProcessesTest, AreReadFromProcIfTheKernelOnlyAnswersAnotherListener)
{
    NewProcesses processes;
    send_exec();
    answer(::getpid() + 1, 0);
    EXPECT_FALSE(processes.wait_for_answer(ours.get()));
}

TEST_F(NewProcessesTest, ThatExecuteBeforeTheKernelAnswersAreChecked)
{
    NewProcesses processes;
    answer(::getpid() + 1, EPERM);
    send_exec();
    answer(::getpid(), 0);
    EXPECT_TRUE(processes.wait_for_answer(ours.get()));
    processes.begin();
    auto due = processes.due(monotonic_ns());
    EXPECT_NE(std::find(due.begin(), due.end(), executed), due.end());
}

} // namespace
} // namespace dt
