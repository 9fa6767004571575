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

} // namespace dt::agent
