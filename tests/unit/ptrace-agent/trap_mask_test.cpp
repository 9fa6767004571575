// SPDX-License-Identifier: MIT
// Tests that breakpoints keep SIGTRAP unblocked in the kernel, and that the program does
// not notice this.
#include "session.hpp"

#include "process/proc_files.hpp"
#include "ptrace-agent/hold/tracing.hpp"
#include "ptrace-agent/trap/trap_records.hpp"

#include <csignal>
#include <filesystem>
#include <gtest/gtest.h>
#include <map>

using namespace dt;
using namespace dt::test;

constexpr std::uint64_t sigtrap_bit = agent::signal_bit(SIGTRAP);

// Returns the signal masks of all threads that have blocked the same signals since the
// start. The thread that changes its mask is the third one.
static std::map<pid_t, std::uint64_t> masks_of(pid_t pid)
{
    std::map<pid_t, std::uint64_t> masks;
    for (const auto& entry : std::filesystem::directory_iterator(
             "/proc/" + std::to_string(pid) + "/task")) {
        const pid_t tid = std::atoi(entry.path().filename().c_str());
        masks[tid] = status_number(thread_status(pid, tid), "SigBlk", 0, 16);
    }
    if (masks.size() == 3)
        masks.erase(std::prev(masks.end()));
    return masks;
}

static std::uint64_t caught_by(pid_t pid)
{
    return status_number(read_proc_file(pid, "status"), "SigCgt", 0, 16);
}

static void plant_breakpoints(Session& session, pid_t pid)
{
    const std::vector sites{entry_site(pid, "work", 1)};
    ASSERT_TRUE(session.agent().grab(pid));
    auto report = session.agent().plant(pid, sites, Mechanism::int3);
    ASSERT_TRUE(report && report->n_planted == 1);
    ASSERT_TRUE(session.wait_for_hits(1, 1000));
}

// The program checks its masks and actions at each byte that it receives.
static void check(FreeVictim& target, const char* when)
{
    target.say("x");
    ASSERT_EQ(target.read_line(), "wrong 0") << when;
}

TEST(TrapMask, IsUnblockedUnderBreakpointsWithoutTheProgramsNotice)
{
    FreeVictim target({victim("masks")});
    ASSERT_EQ(target.read_line(), "ready");
    const pid_t pid = target.pid();
    const auto before = masks_of(pid);
    const std::uint64_t caught = caught_by(pid);
    ASSERT_EQ(before.size(), 2u);
    for (const auto& [tid, mask] : before)
        ASSERT_NE(mask & sigtrap_bit, 0u) << tid;
    for (int round = 0; round < 3; ++round) {
        Session session;
        plant_breakpoints(session, pid);
        for (const auto& [tid, mask] : masks_of(pid))
            EXPECT_EQ(mask, before.at(tid) & ~sigtrap_bit) << tid;
        EXPECT_EQ(caught_by(pid), caught | sigtrap_bit);
        check(target, "while traced");
        check(target, "while traced, after the first signals");
        ASSERT_TRUE(session.agent().detach(pid));
        EXPECT_EQ(masks_of(pid), before);
        EXPECT_EQ(caught_by(pid), caught);
        check(target, "after the session");
    }
    EXPECT_EQ(target.finish(), 0);
    EXPECT_EQ(number_after(target.rest, "wrong"), 0) << target.rest;
}

TEST(TrapMask, IsUnblockedInAProgramThatStartsUnderTheAgent)
{
    Session session;
    pid_t pid = session.create({victim("blocked"), "500", "handled"});
    const std::vector sites{entry_site(pid, "work", 1)};
    auto report = session.agent().plant(pid, sites, Mechanism::int3);
    ASSERT_TRUE(report && report->n_planted == 1);
    EXPECT_EQ(session.run_to_end(pid), 0) << session.output();
    EXPECT_EQ(session.hits(1), 500u);
}

// One thread hits breakpoints in a handler that blocks all signals, and another one
// while it blocks all signals itself.
TEST(TrapMask, ProtectsThreadsThatBlockAllSignalsWhenTheAgentDies)
{
    for (int round = 0; round < 20; ++round) {
        FreeVictim target({victim("masks")});
        ASSERT_EQ(target.read_line(), "ready");
        Session session;
        plant_breakpoints(session, target.pid());
        if (round % 2 == 0)
            check(target, "while traced");
        ::kill(session.agent().agent_pid(), SIGKILL);
        EXPECT_TRUE(wait_until([&] { return !is_traced(target.pid()); }));
        ASSERT_EQ(target.finish(), 0) << "round " << round;
    }
}

TEST(TrapMask, RecordsAreLimited)
{
    agent::MaskRecords records;
    for (std::uint64_t mask = 0; mask < agent::MaskRecords::max_records; ++mask)
        records.set(mask, true);
    EXPECT_EQ(records.find(0), true);
    records.set(agent::MaskRecords::max_records, false);
    EXPECT_EQ(records.find(0), std::nullopt);
    EXPECT_EQ(records.find(agent::MaskRecords::max_records), false);
}
