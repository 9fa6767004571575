// SPDX-License-Identifier: MIT
// Tests dlopen() and dlclose() in a target.
#include "session.hpp"

#include "process/proc_files.hpp"

#include <chrono>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace dt;
using namespace dt::test;

TEST(Libraries, AreReportedBeforeTheirConstructorsRun)
{
    Session session;
    pid_t pid = session.create({victim("dlopener"), victim("plugin.so"), "3", "100"});
    // The first plant() makes the agent watch the linker, even if there are no sites.
    ASSERT_TRUE(session.agent().plant(pid, {}));
    ASSERT_TRUE(session.agent().resume(pid));
    int n_planted = 0;
    while (auto event = session.event()) {
        if (event->kind == AgentEvent::exited) {
            EXPECT_EQ(event->status, 0);
            break;
        }
        if (event->kind != AgentEvent::libraries_changed)
            continue;
        auto functions = functions_of(pid, "/plugin.so");
        if (functions.count("plugin_work") != 0) {
            session.plant(pid, return_sites(functions["plugin_work"], 2));
            session.plant_entry(pid, "plugin_work", 1, "/plugin.so");
            ++n_planted;
        }
        // A reply to the previous change does not resume the thread.
        ASSERT_TRUE(
            session.agent().resume_after_library_change(pid, event->status - 1));
        EXPECT_EQ(thread_state(pid, pid), 't');
        ASSERT_TRUE(session.agent().resume_after_library_change(pid, event->status));
    }
    EXPECT_EQ(n_planted, 3);
    // At each of the three loads, the constructor makes one call, and the program makes
    // 100.
    EXPECT_EQ(session.hits(1), 303u);
    EXPECT_EQ(session.hits(2), 303u);
    EXPECT_EQ(session.printed("sum"), 3 * 5050);
}

// The client never replies. The program waits only for the reply to the first change.
TEST(Libraries, DoNotWaitForeverForAClientThatDoesNotReply)
{
    Session session;
    pid_t pid = session.create({victim("dlopener"), victim("plugin.so"), "5", "10"});
    ASSERT_TRUE(session.agent().plant(pid, {}));
    ASSERT_TRUE(session.agent().resume(pid));
    auto began = std::chrono::steady_clock::now();
    for (char state = '?'; state != 'Z' && state != '\0';) {
        ASSERT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(40));
        usleep(20'000);
        state = thread_state(pid, pid);
    }
    std::string told;
    int n_changes = 0;
    while (auto event = session.event()) {
        if (event->kind == AgentEvent::exited)
            break;
        n_changes += event->kind == AgentEvent::libraries_changed;
        if (event->kind == AgentEvent::agent_error)
            told += event->text;
    }
    EXPECT_NE(told.find("dtrace did not respond"), std::string::npos) << told;
    // The agent reports later changes only after the client has handled the first one.
    EXPECT_EQ(n_changes, 1);
    EXPECT_EQ(session.printed("sum"), 5 * 55);
}

// The first event after the plugin's probes have been removed lists exactly these
// probes.
TEST(Libraries, ThatAreUnloadedReportTheProbesThatWereRemovedWithThem)
{
    for (Mechanism mechanism : {Mechanism::automatic, Mechanism::int3}) {
        Session session;
        pid_t pid =
            session.create({victim("dlopener"), victim("plugin.so"), "4", "10"});
        std::vector<Site> sites(1);
        sites[0].at = functions_of(pid, "/libc.so.6").at("puts").at;
        sites[0].probe = 3;
        ASSERT_TRUE(session.agent().plant(pid, sites, mechanism));
        ASSERT_TRUE(session.agent().resume(pid));
        std::vector<ForgottenProbe> expected;
        int n_loads = 0;
        while (auto event = session.event()) {
            if (event->kind == AgentEvent::exited)
                break;
            if (event->kind != AgentEvent::libraries_changed)
                continue;
            ASSERT_EQ(event->forgotten.size(), expected.size());
            for (std::size_t i = 0; i < expected.size(); i++) {
                EXPECT_EQ(event->forgotten[i].at, expected[i].at);
                EXPECT_EQ(event->forgotten[i].probe, expected[i].probe);
            }
            expected.clear();
            auto functions = functions_of(pid, "/plugin.so");
            if (functions.count("plugin_work") != 0 && ++n_loads % 2 == 1) {
                // plugin_work has no branches, so its extent is the entire function.
                const Function& work = functions["plugin_work"];
                sites[0].at = sites[0].first = work.at;
                sites[0].end = work.at + work.bytes;
                sites[0].probe = 1;
                ASSERT_TRUE(session.agent().plant(pid, sites, mechanism));
                expected.push_back({sites[0].at, 1});
            }
            ASSERT_TRUE(
                session.agent().resume_after_library_change(pid, event->status));
        }
        EXPECT_EQ(n_loads, 4);
        EXPECT_EQ(session.hits(1), 22u);
    }
}

TEST(Libraries, DoNotStopTheTargetAfterTheClientHasExited)
{
    FreeVictim target({victim("dlopener"), victim("plugin.so"), "2000", "10"}, "WAIT");
    target.read_line();
    {
        Session session;
        ASSERT_TRUE(session.agent().grab(target.pid()));
        ASSERT_TRUE(session.agent().plant(target.pid(), {}));
        target.say("x");
        auto event = session.event();
        ASSERT_TRUE(event);
        EXPECT_EQ(event->kind, AgentEvent::libraries_changed);
        // The session ends here without a reply.
    }
    EXPECT_EQ(target.finish(), 0);
    EXPECT_EQ(number_after(target.rest, "sum"), 2000 * 55);
}
