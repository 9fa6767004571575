// SPDX-License-Identifier: MIT
// Tests attaching to running processes, probing them, and detaching. Afterwards, the
// processes must be unchanged.
#include "session.hpp"

#include "process/proc_files.hpp"

#include <csignal>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace dt;
using namespace dt::test;

static void expect_unharmed(FreeVictim& target)
{
    EXPECT_EQ(text_difference(target.pid()), "");
    EXPECT_FALSE(is_traced(target.pid()));
    EXPECT_FALSE(has_private_code(target.pid()));
    EXPECT_EQ(target.finish(), 0);
    EXPECT_GE(number_after(target.rest, "calls"), 0);
}

TEST(Grab, CountsFromManyThreadsAndRestoresTheText)
{
    FreeVictim target({victim("waiter"), "50"});
    target.read_line();
    Session session;
    ASSERT_TRUE(session.agent().grab(target.pid()));
    // Plant both probes at once. A call between two requests would fire only one of
    // them.
    Function work = functions_of(target.pid(), "/waiter")["work"];
    std::vector<Site> sites = return_sites(work, 2);
    Site entry;
    entry.at = work.at;
    entry.probe = 1;
    sites.push_back(entry);
    session.plant(target.pid(), sites);
    EXPECT_TRUE(session.wait_for_hits(1, 1000));
    auto detached = session.agent().detach(target.pid());
    EXPECT_TRUE(detached) << detached.error().text;
    auto counted = session.hits(1);
    expect_unharmed(target);
    EXPECT_EQ(session.hits(1), counted);
    // A thread may have been in the function when the probes were planted or removed.
    EXPECT_NEAR(static_cast<double>(session.hits(2)), static_cast<double>(counted), 50);
}

TEST(Grab, CountsCallsExactlyWhileTheProbeIsPlanted)
{
    // The probe is planted before the first call and removed after the last one.
    FreeVictim target({victim("blocked"), "5000", "handled"}, "WAIT");
    target.read_line();
    Session session;
    ASSERT_TRUE(session.agent().grab(target.pid()));
    session.plant_entry(target.pid(), "work", 1);
    target.say("x");
    EXPECT_EQ(target.finish(), 0) << target.rest;
    EXPECT_EQ(session.hits(1), 5000u);
}

TEST(Grab, DetachesWhileThreadsAreAtProbes)
{
    FreeVictim target({victim("waiter"), "20"});
    target.read_line();
    Session session;
    for (int round = 0; round < 30; ++round) {
        ASSERT_TRUE(session.agent().grab(target.pid()));
        session.plant_return(target.pid(), "work", 2);
        session.plant_entry(target.pid(), "work", 1);
        // Detach at a different moment between two hits each time.
        usleep(static_cast<useconds_t>(1000 + 700 * round));
        ASSERT_TRUE(session.agent().detach(target.pid()));
        ASSERT_EQ(text_difference(target.pid()), "");
        ASSERT_FALSE(is_traced(target.pid()));
    }
    EXPECT_GT(session.hits(1), 100u);
    expect_unharmed(target);
}

TEST(Grab, ReportsTheEndOfAProcessOnce)
{
    FreeVictim target({victim("waiter"), "3"});
    target.read_line();
    Session session;
    ASSERT_TRUE(session.agent().grab(target.pid()));
    session.plant_entry(target.pid(), "work", 1);
    EXPECT_EQ(target.finish(), 0);
    auto event = session.event();
    ASSERT_TRUE(event);
    EXPECT_EQ(event->kind, AgentEvent::exited);
    EXPECT_EQ(event->status, 0);
    EXPECT_FALSE(session.event(50));
    auto planted = session.agent().plant(target.pid(), {});
    ASSERT_FALSE(planted);
    EXPECT_EQ(planted.error().code, Code::gone);
}

TEST(Grab, WorksAfterTheMainThreadHasEnded)
{
    FreeVictim target({victim("waiter"), "4", "leader-exits"});
    target.read_line();
    ASSERT_TRUE(
        wait_until([&] { return thread_state(target.pid(), target.pid()) == 'Z'; }));
    Session session;
    auto grabbed = session.agent().grab(target.pid());
    ASSERT_TRUE(grabbed) << grabbed.error().text;
    // The /proc files of a main thread that has exited cannot be read, so use the files
    // of another thread.
    auto tids = threads_of(target.pid());
    ASSERT_GT(tids.size(), 1u);
    Site site;
    site.at = functions_of(tids.back(), "/waiter")["work"].at;
    site.probe = 1;
    if (site.at.value != 0)
        session.plant(target.pid(), {site});
    EXPECT_TRUE(session.wait_for_hits(1, 100));
    ASSERT_TRUE(session.agent().detach(target.pid()));
    EXPECT_EQ(target.finish(), 0);
}

TEST(Grab, KeepsAStoppedProcessStopped)
{
    FreeVictim target({victim("waiter"), "2"});
    target.read_line();
    ::kill(target.pid(), SIGSTOP);
    auto is_stopped = [&] {
        const char state = thread_state(target.pid(), target.pid());
        return state == 'T' || state == 't';
    };
    ASSERT_TRUE(wait_until(is_stopped));
    Session session;
    ASSERT_TRUE(session.agent().grab(target.pid()));
    session.plant_entry(target.pid(), "work", 1);
    usleep(50000); // If the process ran during this time, the probe would fire.
    EXPECT_EQ(session.hits(1), 0u);
    ::kill(target.pid(), SIGCONT);
    EXPECT_TRUE(session.wait_for_hits(1, 0));
    ::kill(target.pid(), SIGSTOP);
    ASSERT_TRUE(wait_until(is_stopped));
    ASSERT_TRUE(session.agent().detach(target.pid()));
    EXPECT_TRUE(
        wait_until([&] { return thread_state(target.pid(), target.pid()) == 'T'; }));
    ::kill(target.pid(), SIGCONT);
    expect_unharmed(target);
}

TEST(Grab, RefusesProcessesThatCannotBeTracedWithAReason)
{
    Session session;
    auto refused = [&session](pid_t pid) {
        auto target = session.agent().grab(pid);
        EXPECT_FALSE(target);
        return target ? Error{} : target.error();
    };
    EXPECT_EQ(refused(0x3ffffff).code, Code::not_found);
    EXPECT_EQ(refused(getpid()).code, Code::invalid);
    EXPECT_EQ(refused(session.agent().agent_pid()).code, Code::invalid);
    EXPECT_EQ(refused(2).code, Code::unsupported) << "kthreadd";

    pid_t zombie = fork();
    if (zombie == 0)
        _exit(0);
    siginfo_t info;
    waitid(P_PID, static_cast<id_t>(zombie), &info, WEXITED | WNOWAIT);
    EXPECT_EQ(refused(zombie).code, Code::gone);
    waitpid(zombie, nullptr, 0);
}

TEST(Grab, NamesTheDebuggerThatTracesTheProcess)
{
    FreeVictim target({victim("waiter"), "1"});
    target.read_line();
    Session first, second;
    ASSERT_TRUE(first.agent().grab(target.pid()));
    auto refused = second.agent().grab(target.pid());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::busy);
    EXPECT_NE(refused.error().text.find(std::to_string(first.agent().agent_pid())),
              std::string::npos);
    EXPECT_NE(refused.error().text.find("ptrace-agent"), std::string::npos);
}

TEST(Grab, RefusesAProcessOfAnotherUserAndNamesTheUser)
{
    if (geteuid() != 0)
        GTEST_SKIP() << "lacks: root, to become another user";
    FreeVictim target({victim("waiter"), "1"});
    target.read_line();
    pid_t other = fork();
    if (other == 0) {
        if (setgid(65534) != 0 || setuid(65534) != 0)
            _exit(1);
        auto agent = AgentClient::start();
        auto refused = agent->grab(target.pid());
        bool good = !refused && refused.error().code == Code::permission &&
                    refused.error().text.find("user 0") != std::string::npos;
        agent = Error{};
        _exit(good ? 0 : 2);
    }
    int status = -1;
    waitpid(other, &status, 0);
    EXPECT_EQ(status, 0);
}
