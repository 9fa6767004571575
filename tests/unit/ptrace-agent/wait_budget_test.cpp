// SPDX-License-Identifier: MIT
#include "ptrace-agent/hold/wait_budget.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace dt::agent {

constexpr std::uint64_t ms = 1'000'000;

static void wait_ms(WaitBudget& budget, unsigned n)
{
    WaitBudget::Wait wait(budget);
    usleep(n * 1000);
}

TEST(WaitBudget, IsSharedByAllWaitsOfATurn)
{
    WaitBudget budget;
    budget.begin_turn(1);
    budget.restart(30 * ms);
    wait_ms(budget, 20);
    EXPECT_GE(budget.spent_ns(), 20 * ms);
    wait_ms(budget, 20);
    EXPECT_TRUE(budget.is_spent());
    budget.begin_turn(1);
    EXPECT_TRUE(budget.is_spent());
    budget.begin_turn(2);
    EXPECT_EQ(budget.spent_ns(), 0u);
    EXPECT_FALSE(budget.is_spent());
}

TEST(WaitBudget, CountsTheTimeOfNestedWaitsOnce)
{
    WaitBudget budget;
    const std::uint64_t began = monotonic_ns();
    {
        WaitBudget::Wait outer(budget);
        for (int i = 0; i < 4; ++i)
            wait_ms(budget, 10);
        EXPECT_GE(budget.spent_ns(), 40 * ms); // although `outer` has not ended
    }
    EXPECT_GE(budget.spent_ns(), 40 * ms);
    EXPECT_LE(budget.spent_ns(), monotonic_ns() - began);
    const std::uint64_t spent = budget.spent_ns();
    usleep(10'000); // not inside a WaitBudget::Wait
    EXPECT_EQ(budget.spent_ns(), spent);
}

TEST(WaitBudget, IsNotRefilledAfterTheLastBudgetIsSet)
{
    WaitBudget budget;
    budget.give_up(10 * ms);
    EXPECT_TRUE(budget.given_up());
    wait_ms(budget, 20);
    budget.begin_turn(5);
    budget.restart(1000 * ms);
    EXPECT_TRUE(budget.is_spent());
}

// A thread may be found asleep for a moment only, for example because it has just stopped.
TEST(WaitBudget, CountsTheSleepSinceAThreadWasLastRunnable)
{
    constexpr pid_t tid = 1, other = 2;
    WaitBudget budget;
    EXPECT_EQ(budget.since_spent(tid, 5 * ms, false).asleep_ns, 0u);
    wait_ms(budget, 20);
    EXPECT_GE(budget.since_spent(tid, 5 * ms, false).asleep_ns, 20 * ms);
    EXPECT_EQ(budget.since_spent(other, 7 * ms, false).asleep_ns, 0u);
    EXPECT_EQ(budget.since_spent(tid, 5 * ms, true).asleep_ns, 0u);
    wait_ms(budget, 20);
    EXPECT_GE(budget.since_spent(tid, 5 * ms, false).asleep_ns, 20 * ms);
    // It has run between the two looks.
    const auto ran = budget.since_spent(tid, 8 * ms, false);
    EXPECT_EQ(ran.asleep_ns, 0u);
    EXPECT_EQ(ran.ran_ns, 3 * ms);
    budget.restart(0);
    EXPECT_EQ(budget.since_spent(tid, 9 * ms, false).ran_ns, 0u);
}

} // namespace dt::agent
