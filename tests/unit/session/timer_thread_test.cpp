// SPDX-License-Identifier: MIT
// Tests the thread that fires tick-N and profile-N probes.
#include "libdtrace/session/backends/timer_thread.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <mutex>

namespace {

using namespace std::chrono_literals;

struct Counter {
    std::mutex mutex;
    std::map<std::uint32_t, int> fired;
    int of(std::uint32_t probe)
    {
        std::lock_guard lock(mutex);
        return fired[probe];
    }
    std::function<void(const dt::Timer&)> counting()
    {
        return [this](const dt::Timer& timer) {
            std::lock_guard lock(mutex);
            fired[timer.probe]++;
        };
    }
};

TEST(TimerThread, FiresEachTimerAtItsOwnIntervalAndNoneTooEarly)
{
    Counter counter;
    dt::TimerThread timers;
    auto began = std::chrono::steady_clock::now();
    ASSERT_TRUE(timers.start({{1, 5'000'000, false}, {2, 50'000'000, false}},
                             counter.counting()));
    while (counter.of(2) < 3)
        std::this_thread::sleep_for(1ms);
    auto took = std::chrono::steady_clock::now() - began;
    timers.stop();
    EXPECT_GE(took, 150ms);
    EXPECT_LE(counter.of(1), took / 5ms);
    // A late thread fires for each missed interval, but at most ten times.
    EXPECT_GE(counter.of(1), 10);
}

TEST(TimerThread, AnIntervalOfManyYearsDoesNotFireImmediately)
{
    Counter counter;
    dt::TimerThread timers;
    ASSERT_TRUE(timers.start({{1, INT64_MAX, false}, {2, 1'000'000, false}},
                             counter.counting()));
    while (counter.of(2) < 20)
        std::this_thread::sleep_for(1ms);
    timers.stop();
    EXPECT_EQ(counter.of(1), 0);
}

TEST(TimerThread, StopsImmediatelyTwiceAndStartsAgain)
{
    Counter counter;
    dt::TimerThread timers;
    for (int i = 0; i < 2; i++) {
        ASSERT_TRUE(timers.start({{1, 3'600'000'000'000, false}}, counter.counting()));
        auto began = std::chrono::steady_clock::now();
        timers.stop();
        timers.stop();
        EXPECT_LT(std::chrono::steady_clock::now() - began, 5s);
    }
    EXPECT_EQ(counter.of(1), 0);
}

} // namespace
