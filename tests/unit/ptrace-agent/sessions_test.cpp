// SPDX-License-Identifier: MIT
// Tests that several clients share one agent. The probes of several sessions are tested
// by tests/system/test_sessions.py.
#include "ptrace-agent/sessions.hpp"
#include "session.hpp"

#include <csignal>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <set>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace dt;
using namespace dt::test;

TEST(Sessions, KeepATargetUntilTheLastOneDetaches)
{
    FreeVictim target({victim("waiter"), "50"});
    target.read_line();
    Session first;
    ASSERT_TRUE(first.agent().grab(target.pid()));
    auto second = AgentClient::join(first.agent().agent_pid());
    ASSERT_TRUE(second) << second.error().text;
    EXPECT_TRUE(second->is_joined());
    ASSERT_TRUE(second->grab(target.pid()));
    EXPECT_TRUE(first.agent().detach(target.pid()));
    EXPECT_TRUE(is_traced(target.pid()));
    EXPECT_FALSE(first.agent().detach(target.pid())); // no longer its target
    EXPECT_TRUE(second->detach(target.pid()));
    EXPECT_FALSE(is_traced(target.pid()));
    EXPECT_EQ(target.finish(), 0);
}

TEST(Sessions, OutliveTheClientThatStartedTheAgent)
{
    FreeVictim target({victim("waiter"), "50"});
    target.read_line();
    std::optional<AgentClient> second;
    pid_t agent = 0;
    {
        Session first;
        agent = first.agent().agent_pid();
        ASSERT_TRUE(first.agent().grab(target.pid()));
        auto joined = AgentClient::join(agent);
        ASSERT_TRUE(joined) << joined.error().text;
        second.emplace(std::move(*joined));
        ASSERT_TRUE(second->grab(target.pid()));
    }
    EXPECT_EQ(kill(agent, 0), 0);
    EXPECT_TRUE(is_traced(target.pid()));
    second.reset();
    EXPECT_FALSE(is_traced(target.pid()));
    EXPECT_EQ(target.finish(), 0);
}

TEST(Sessions, ReportAnEventOnlyToTheClientsThatTraceTheProcess)
{
    FreeVictim target({victim("waiter"), "50"});
    target.read_line();
    Session first;
    ASSERT_TRUE(first.agent().grab(target.pid()));
    auto second = AgentClient::join(first.agent().agent_pid());
    ASSERT_TRUE(second) << second.error().text;
    target.finish();
    auto event = first.event();
    ASSERT_TRUE(event);
    EXPECT_EQ(event->kind, AgentEvent::exited);
    auto none = second->next_event();
    ASSERT_TRUE(none);
    EXPECT_FALSE(*none);
}

TEST(Sessions, DoNotStartOrKillTheCommandOfAnotherSession)
{
    Session first;
    const pid_t pid = first.create({victim("spin"), "1000", "1"});
    auto second = AgentClient::join(first.agent().agent_pid());
    ASSERT_TRUE(second) << second.error().text;
    ASSERT_TRUE(second->grab(pid));
    EXPECT_TRUE(second->resume(pid));
    EXPECT_TRUE(second->detach(pid));
    EXPECT_TRUE(second->grab(pid));
    { // the end of the second session
        const AgentClient ends = std::move(*second);
    }
    EXPECT_FALSE(first.event(200)); // the command is still held
    EXPECT_EQ(first.output(), "");
    EXPECT_EQ(first.run_to_end(pid), 0);
}

TEST(Sessions, CannotUseTheArenaOfAnotherVersion)
{
    Session first;
    auto second = AgentClient::join(first.agent().agent_pid());
    ASSERT_TRUE(second) << second.error().text;
    constexpr std::uint64_t bytes = 64 << 10;
    const Fd arena(memfd_create("arena", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    ASSERT_EQ(ftruncate(arena.get(), bytes), 0);
    ASSERT_EQ(fcntl(arena.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
    auto mapped = second->set_arena(arena.get(), bytes, arena.get(), bytes);
    ASSERT_FALSE(mapped);
    EXPECT_EQ(mapped.error().code, Code::unsupported);
}

TEST(Sessions, CannotBeginAtAProcessThatIsNoAgent)
{
    auto joined = AgentClient::join(getpid());
    ASSERT_FALSE(joined);
    EXPECT_EQ(joined.error().code, Code::not_found);
}

TEST(Sessions, HaveDifferentNumbers)
{
    std::vector<Fd> clients;
    auto connect = [&clients] {
        int ends[2] = {-1, -1};
        EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        clients.emplace_back(ends[1]);
        return Fd(ends[0]);
    };
    agent::Sessions sessions;
    agent::SessionSet taken;
    taken.set(0).set(2); // targets still use the memory of these sessions
    std::set<unsigned> numbers;
    for (unsigned i = 0; i < agent::max_sessions - 2; i++) {
        agent::AgentSession* session =
            sessions.add(agent::ClientLink(connect()), taken);
        ASSERT_NE(session, nullptr);
        EXPECT_FALSE(taken.test(session->number));
        EXPECT_TRUE(numbers.insert(session->number).second);
    }
    EXPECT_EQ(sessions.add(agent::ClientLink(connect()), taken), nullptr);
    sessions.remove(5);
    agent::AgentSession* session = sessions.add(agent::ClientLink(connect()), taken);
    ASSERT_NE(session, nullptr);
    EXPECT_EQ(session->number, 5u);
}
