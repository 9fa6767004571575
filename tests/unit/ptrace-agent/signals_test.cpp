// SPDX-License-Identifier: MIT
// Tests that a traced program receives its own signals, including SIGTRAP.
#include "session.hpp"

#include "fasttrap/arch/arch.hpp"

#include <csignal>

#include <gtest/gtest.h>
#include <sys/wait.h>

using namespace dt;
using namespace dt::test;

TEST(Signals, ReachAProbedProgramAtOneKilohertz)
{
    Session session;
    pid_t pid = session.create({victim("alarms"), "20000"});
    session.plant_return(pid, "work", 2);
    session.plant_entry(pid, "work", 1);
    session.plant_entry(pid, "handled", 3);
    EXPECT_EQ(session.run_to_end(pid), 0) << session.output();
    EXPECT_EQ(session.printed("calls"), 20000);
    EXPECT_EQ(session.hits(1), 20000u);
    EXPECT_EQ(session.hits(2), 20000u);
    EXPECT_EQ(session.hits(3), static_cast<std::uint64_t>(session.printed("handled")));
    EXPECT_GE(session.printed("handled"), 50);
}

TEST(Signals, DoNotChangeTheCountIfEveryInstructionIsProbed)
{
    Session session;
    pid_t pid = session.create({victim("alarms"), "3000"});
    Function work = functions_of(pid, "/alarms")["work"];
    std::vector<Site> sites;
    for (std::size_t at = 0; at < work.text.size();) {
        auto insn = x86_64.decode(std::span(work.text).subspan(at), work.at + at);
        ASSERT_TRUE(insn);
        Site site;
        site.at = work.at + at;
        site.kind = SiteKind::offset;
        site.probe = static_cast<std::uint32_t>(100 + at);
        sites.push_back(site);
        at += insn->length;
    }
    session.plant(pid, sites);
    EXPECT_EQ(session.run_to_end(pid), 0) << session.output();
    for (const Site& site : sites)
        EXPECT_EQ(session.hits(site.probe), 3000u) << site.probe - 100;
}

TEST(Signals, OfTheProgramsOwnTrapsReachTheProgram)
{
    Session session;
    pid_t pid = session.create({victim("sigtrap"), "200"});
    session.plant_entry(pid, "work", 1);
    EXPECT_EQ(session.run_to_end(pid), 0) << session.output();
    EXPECT_EQ(session.hits(1), 800u);
}

TEST(Signals, KeepSigtrapBlockedIfTheProgramBlocksIt)
{
    Session session;
    pid_t pid = session.create({victim("blocked"), "500", "blocked"});
    session.plant_return(pid, "work", 2);
    session.plant_entry(pid, "work", 1);
    EXPECT_EQ(session.run_to_end(pid), 0) << session.output();
    EXPECT_EQ(session.hits(1), 500u);
    EXPECT_EQ(session.hits(2), 500u);
}

TEST(Signals, KeepSigtrapIgnoredIfTheProgramIgnoresIt)
{
    FreeVictim target({victim("blocked"), "300", "ignored"}, "WAIT");
    target.read_line();
    Session session;
    ASSERT_TRUE(session.agent().grab(target.pid()));
    session.plant_entry(target.pid(), "work", 1);
    target.say("x");
    EXPECT_EQ(target.finish(), 0) << target.rest;
    EXPECT_EQ(session.hits(1), 300u);
}

TEST(Signals, KeepTheHandlerOfABlockedSigtrap)
{
    FreeVictim target({victim("blocked"), "300", "handled"}, "WAIT");
    target.read_line();
    Session session;
    ASSERT_TRUE(session.agent().grab(target.pid()));
    session.plant_entry(target.pid(), "work", 1);
    target.say("x");
    EXPECT_EQ(target.finish(), 0) << target.rest;
    EXPECT_EQ(session.hits(1), 300u);
}

TEST(Signals, KillTheProcessThatTheyKillWithoutProbes)
{
    FreeVictim target({victim("waiter"), "5"});
    target.read_line();
    Session session;
    ASSERT_TRUE(session.agent().grab(target.pid()));
    session.plant_entry(target.pid(), "work", 1);
    ::kill(target.pid(), SIGUSR1);
    auto event = session.event();
    ASSERT_TRUE(event);
    EXPECT_EQ(event->kind, AgentEvent::exited);
    EXPECT_TRUE(WIFSIGNALED(event->status) && WTERMSIG(event->status) == SIGUSR1);
}

// The SIGSYS of a dispatched system call (PR_SET_SYSCALL_USER_DISPATCH) may be pending
// when the agent stops the thread.
TEST(Signals, OfDispatchedSystemCallsAreDeliveredOnceEvenIfTheThreadIsStoppedOften)
{
    int n_grabs = 0;
    // On a busy machine, a target ends after a few grabs.
    while (n_grabs <= 10) {
        FreeVictim target({victim("taken"), "dispatched", "300000"});
        ASSERT_EQ(target.read_line(), "ready");
        // The target may exit at any time after a grab, so its sites are read now.
        const std::vector sites{entry_site(target.pid(), "work", 1)};
        for (bool runs = true; runs; ++n_grabs) {
            Session session;
            runs = static_cast<bool>(session.agent().grab(target.pid()));
            if (!runs)
                break;
            (void)session.agent().plant(target.pid(), sites);
        }
        ASSERT_EQ(target.finish(), 0);
        ASSERT_NE(target.rest.find("good 300000"), std::string::npos) << target.rest;
    }
}
