// SPDX-License-Identifier: MIT
// dlopen() and dlclose() of a running target.
#include "session.hpp"

#include <gtest/gtest.h>

using namespace dt;
using namespace dt::test;

TEST(Libraries, AreAnnouncedBeforeTheirConstructorsRun)
{
    Session session;
    pid_t pid = session.create({victim("dlopener"), victim("plugin.so"), "3", "100"});
    // Nothing to plant yet, but the linker is watched from the first plant on.
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
        ASSERT_TRUE(session.agent().resume_after_library_change(pid));
    }
    EXPECT_EQ(n_planted, 3);
    // The constructor calls it once per load.
    EXPECT_EQ(session.hits(1), 303u);
    EXPECT_EQ(session.hits(2), 303u);
    EXPECT_EQ(session.printed("sum"), 3 * 5050);
}

TEST(Libraries, HoldNobodyLongerThanTheClientLives)
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
        // Not answered: the session ends here.
    }
    EXPECT_EQ(target.finish(), 0);
    EXPECT_EQ(number_after(target.rest, "sum"), 2000 * 55);
}
