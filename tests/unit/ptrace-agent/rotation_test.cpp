// SPDX-License-Identifier: MIT
// Tests which threads profile-N examines at each tick, and how much time it may spend.
#include "ptrace-agent/sample/rotation.hpp"

#include <gtest/gtest.h>
#include <map>

using namespace dt::agent;

namespace {

// Examines up to n_looks threads in one tick, and counts them in `looks`. Only thread 1
// is running.
void tick(Rotation& rotation, int n_looks, std::map<pid_t, int>& looks)
{
    rotation.begin();
    for (int i = 0; i < n_looks; ++i) {
        auto tid = rotation.next();
        if (!tid)
            return;
        ++looks[*tid];
        rotation.seen(*tid == 1 ? Rotation::Found::running : Rotation::Found::asleep);
    }
}

TEST(Rotation, ExaminesARunningThreadInEachTickAndSleepingOnesInTurn)
{
    Rotation rotation;
    for (pid_t tid = 1; tid <= 2000; ++tid)
        rotation.add(tid);
    std::map<pid_t, int> looks;
    for (int i = 0; i < 1000; ++i)
        tick(rotation, 8, looks);
    EXPECT_GE(looks[1], 990);
    EXPECT_EQ(looks.size(), 2000u);
    for (auto [tid, n] : looks)
        EXPECT_LE(n, tid == 1 ? 1000 : 5) << tid;
}

TEST(Rotation, ExaminesSleepingThreadsEvenIfARunningOneUsesTheWholeBudget)
{
    Rotation rotation;
    for (pid_t tid = 1; tid <= 10; ++tid)
        rotation.add(tid);
    std::map<pid_t, int> looks;
    tick(rotation, 100, looks);
    EXPECT_EQ(rotation.n_busy(), 1u);
    for (int i = 0; i < 80; ++i)
        tick(rotation, 1, looks);
    EXPECT_EQ(looks.size(), 10u);
    EXPECT_GE(looks[1], 60);
}

TEST(Rotation, ExaminesNewThreadsBeforeIdleOnes)
{
    Rotation rotation;
    for (pid_t tid = 2; tid <= 100; ++tid)
        rotation.add(tid);
    std::map<pid_t, int> looks;
    tick(rotation, 99, looks);
    rotation.add(1);
    looks.clear();
    tick(rotation, 2, looks);
    EXPECT_EQ(looks.count(1), 1u);
    EXPECT_EQ(rotation.n_busy(), 1u);
}

TEST(Rotation, ExaminesOnlyNewThreadsIfTheKnownOnesAreSkipped)
{
    Rotation rotation;
    rotation.add(1);
    rotation.add(2);
    std::map<pid_t, int> looks;
    tick(rotation, 100, looks);
    rotation.add(3);
    rotation.begin();
    EXPECT_FALSE(rotation.is_new_next());
    rotation.skip_known();
    EXPECT_TRUE(rotation.is_new_next());
    EXPECT_EQ(rotation.next(), 3);
    EXPECT_FALSE(rotation.is_new_next());
    EXPECT_EQ(rotation.next(), std::nullopt);
}

TEST(Rotation, ForgetsThreadsThatHaveExited)
{
    Rotation rotation;
    rotation.add(7);
    rotation.begin();
    EXPECT_EQ(rotation.next(),
              7); // seen() is not called, because the thread has exited
    rotation.begin();
    EXPECT_EQ(rotation.next(), std::nullopt);
}

TEST(Rotation, NoLongerPrefersAThreadThatHasFallenAsleep)
{
    Rotation rotation;
    rotation.add(1);
    rotation.begin();
    rotation.next();
    rotation.seen(Rotation::Found::running);
    EXPECT_EQ(rotation.n_busy(), 1u);
    for (int i = 0; i < 64; ++i) {
        rotation.begin();
        rotation.next();
        rotation.seen(Rotation::Found::asleep);
    }
    EXPECT_EQ(rotation.n_busy(), 0u);
}

TEST(SampleBudget, IsFivePercentOfTheTimeOfEachRunningThread)
{
    for (std::size_t n_running : {1u, 8u}) {
        SampleBudget budget;
        std::uint64_t now = 1, spent = 0;
        const std::uint64_t seconds = 20;
        for (std::uint64_t us = 0; us < seconds * 1'000'000; us += 100) {
            now += 100'000;
            while (budget.may_spend(now, n_running)) {
                budget.spend(10'000);
                spent += 10'000;
            }
        }
        const double share =
            static_cast<double>(spent) / 1e9 / static_cast<double>(seconds);
        EXPECT_NEAR(share / static_cast<double>(n_running), 0.05, 0.002);
    }
}

} // namespace
