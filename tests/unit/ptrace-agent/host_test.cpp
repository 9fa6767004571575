// SPDX-License-Identifier: MIT
// Tests the values that the agent gives the engine about a thread at a probe.
#include "session.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace dt;
using namespace dt::test;

TEST(Host, PassesTenArgumentsAndTheReturnValue)
{
    Session session;
    session.notes().ask = ask_args;
    pid_t pid = session.create({victim("spin"), "1", "1"});
    session.plant_return(pid, "ten", 2);
    session.plant_entry(pid, "ten", 1);
    EXPECT_EQ(session.run_to_end(pid), 0);
    const Seen& entry = session.notes().seen[1];
    for (std::uint64_t i = 0; i < 10; ++i)
        EXPECT_EQ(entry.args[i], i + 1) << i;
    EXPECT_EQ(entry.thread_key,
              static_cast<std::uint64_t>(pid) << 32 | static_cast<std::uint64_t>(pid));
    const Seen& ret = session.notes().seen[2];
    EXPECT_EQ(ret.n_args, 2u);
    EXPECT_GT(ret.args[0], 0u);
    EXPECT_EQ(ret.args[1], 385u); // 1*1 + 2*2 + ... + 10*10
}

TEST(Host, WalksTheStackThroughCallersWithoutFramePointers)
{
    Session session;
    session.notes().ask = ask_stack;
    pid_t pid = session.create({victim("spin"), "2", "1"});
    auto functions = functions_of(pid, "/spin");
    session.plant_return(pid, "work", 2);
    session.plant_entry(pid, "work", 1);
    EXPECT_EQ(session.run_to_end(pid), 0);
    for (unsigned probe : {1u, 2u}) {
        const Seen& seen = session.notes().seen[probe];
        ASSERT_GE(seen.depth, 4) << probe;
        auto inside = [&functions, &seen](int frame, const char* name) {
            const Function& f = functions[name];
            return seen.pcs[frame] - f.at.value < f.bytes;
        };
        EXPECT_TRUE(inside(0, "work"));
        EXPECT_TRUE(inside(1, "outer"));
        EXPECT_TRUE(inside(2, "run"));
    }
}

TEST(Host, ReportsIdsRegistersNameAndArgumentsOfTheProcess)
{
    Session session;
    session.notes().ask = ask_vars;
    pid_t pid = session.create({victim("spin"), "3", "1"});
    auto functions = functions_of(pid, "/spin");
    session.plant_entry(pid, "work", 1);
    EXPECT_EQ(session.run_to_end(pid), 0);
    const Seen& seen = session.notes().seen[1];
    EXPECT_EQ(seen.pid, static_cast<std::uint64_t>(pid));
    EXPECT_NE(seen.tid, seen.pid);
    EXPECT_EQ(seen.ppid, static_cast<std::uint64_t>(session.agent().agent_pid()));
    EXPECT_EQ(seen.uid, geteuid());
    EXPECT_EQ(seen.rip, functions["work"].at.value);
    EXPECT_NE(seen.rsp, 0u);
    EXPECT_EQ(std::string(seen.execname), "spin");
    EXPECT_EQ(std::string(seen.psargs), victim("spin") + " 3 1");
}

TEST(Host, ReadsErrnoOfTheThread)
{
    Session session;
    session.notes().ask = ask_vars;
    pid_t pid = session.create({"/bin/cat", "/nonexistent-file"});
    // cat reports the failed open() through error().
    session.plant_entry(pid, "error", 1, "/libc.so.6");
    int status = session.run_to_end(pid);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    ASSERT_EQ(session.hits(1), 1u);
    EXPECT_EQ(session.notes().seen[1].errno_value, static_cast<std::uint64_t>(ENOENT));
}

TEST(Host, ReadsStringsAndNamesTheAddressThatCannotBeRead)
{
    Session session;
    session.notes().ask = ask_memory;
    pid_t pid = session.create({"/bin/sh", "-c", "echo hello > /dev/null"});
    session.plant_entry(pid, "open64", 2, "/libc.so.6");
    EXPECT_EQ(session.run_to_end(pid), 0);
    EXPECT_EQ(session.notes().seen[2].text_length, 9);
    EXPECT_EQ(std::string(session.notes().seen[2].text), "/dev/null");

    pid = session.create({victim("spin"), "3", "1"});
    session.plant_entry(pid, "work", 3);
    EXPECT_EQ(session.run_to_end(pid), 0);
    EXPECT_EQ(session.notes().seen[3].text_length, -1);
    EXPECT_EQ(session.notes().seen[3].bad, 2u);
}

TEST(Host, RaisesSignals)
{
    Session session;
    session.notes().raise_signal = SIGUSR2;
    pid_t pid = session.create({victim("spin"), "10", "1"});
    session.plant_entry(pid, "work", 1);
    int status = session.run_to_end(pid);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR2);
    EXPECT_EQ(session.hits(1), 1u);
}

TEST(Host, StopsTheProcessUntilItIsContinued)
{
    Session session;
    session.notes().raise_signal = SIGSTOP;
    pid_t pid = session.create({victim("spin"), "10", "4"});
    session.plant_entry(pid, "work", 1);
    ASSERT_TRUE(session.agent().resume(pid));
    EXPECT_TRUE(wait_until([&] {
        const char state = thread_state(pid, pid);
        return session.hits(1) > 0 && (state == 'T' || state == 't');
    }));
    usleep(50'000); // If the process were not stopped, it would exit during this time.
    EXPECT_LT(session.hits(1), 40u);
    ::kill(pid, SIGCONT);
    EXPECT_EQ(session.run_to_end(pid), 0);
    EXPECT_EQ(session.hits(1), 40u);
}
