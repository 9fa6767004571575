// SPDX-License-Identifier: MIT
#include "libdtrace/session/backends/clock_line.hpp"

#include <cstdlib>
#include <gtest/gtest.h>
#include <sys/wait.h>

using namespace dt;

namespace {

std::uint64_t read_line(const dt_clock& c, std::uint64_t counter)
{
    return c.mono_ns +
           static_cast<std::uint64_t>(
               static_cast<unsigned __int128>(counter - c.tsc) * c.mult >> c.shift);
}

// A counter that advances by 3 per ns, and a clock whose speed the test sets.
struct FakeSource : ClockSource {
    std::uint64_t at = 1000;         // ns of true time
    double mono = 5e12, speed = 1.0; // CLOCK_MONOTONIC in ns, and its speed
    bool is_clock = true;

    void pass(std::uint64_t ns)
    {
        at += ns;
        mono += static_cast<double>(ns) * speed;
    }
    std::uint64_t now_ns() const { return static_cast<std::uint64_t>(mono); }
    std::uint64_t counter() override { return 3 * at; }
    std::optional<ClockSample> sample() override
    {
        if (!is_clock)
            return std::nullopt;
        return ClockSample{counter(), now_ns(), now_ns() + 1'000'000'000'000};
    }
    void rest(std::uint64_t ns) override { pass(ns); }
};

TEST(ClockFacts, SayThatTheCounterIsTheClockWheneverTheKernelsClockIsBasedOnIt)
{
    EXPECT_TRUE(counter_is_clock({"tsc"}));
    for (const char* name :
         {"kvm-clock", "hyperv_clocksource_tsc_page", "xen", "new"}) {
        EXPECT_TRUE(counter_is_clock({name, true, false, false})) << name;
        EXPECT_FALSE(counter_is_clock({name, false, false, false})) << name;
    }
    // If the user selected another clock source, the TSC must have a constant rate and
    // be the same on all CPUs.
    EXPECT_TRUE(counter_is_clock({"hpet", false, true, true}));
    EXPECT_FALSE(counter_is_clock({"hpet", false, true, false}));
    EXPECT_FALSE(counter_is_clock({"hpet", false, false, true}));
}

TEST(ClockFacts, AreFoundByTryingTheVdso)
{
    const std::string name = clock_source_name();
    if (name != "tsc" && name != "kvm-clock")
        GTEST_SKIP() << "the clock source here is " << name;
    const ClockFacts facts = clock_facts(name);
    EXPECT_TRUE(facts.vdso_alone);
    EXPECT_EQ(::waitpid(-1, nullptr, __WALL | WNOHANG), -1) << "no child is left";
}

TEST(ClockLine, FollowsTheClockThroughChangesOfItsSpeedAndNeverGoesBack)
{
    FakeSource source;
    ClockLine line(source);
    dt_clock clock{};
    std::uint64_t last = 0;
    for (int i = 0; i < 3000; i++) {
        source.speed = i < 1000 ? 1.0 : i < 2000 ? 1.0001 : 0.9999;
        line.tend(clock, source.now_ns());
        for (int k = 0; k < 10; k++) {
            std::uint64_t now = read_line(clock, source.counter());
            ASSERT_GE(now, last);
            // The speed changes by up to 200 ppm. Detection and correction take a
            // second each.
            ASSERT_NEAR(static_cast<double>(now), source.mono, 400e3) << i;
            if (i % 1000 > 500) {
                ASSERT_NEAR(static_cast<double>(now), source.mono, 1000) << i;
            }
            ASSERT_NEAR(static_cast<double>(clock.wall_ns - clock.mono_ns), 1e12,
                        400e3);
            last = now;
            source.pass(10'000'000);
        }
    }
}

TEST(ClockLine, JumpsAheadAfterASleepOfTheMachineButNeverBack)
{
    FakeSource source;
    ClockLine line(source);
    dt_clock clock{};
    line.tend(clock, source.now_ns());
    source.pass(100'000'000);
    line.tend(clock, source.now_ns());
    source.mono += 7e9; // the counter did not advance during the sleep
    line.tend(clock, source.now_ns());
    EXPECT_NEAR(static_cast<double>(read_line(clock, source.counter())), source.mono,
                1000);
    std::uint64_t last = read_line(clock, source.counter());
    source.pass(2'000'000'000);
    source.mono -= 1e9; // the real CLOCK_MONOTONIC never goes back
    line.tend(clock, source.now_ns() + 2'000'000'000);
    EXPECT_GE(read_line(clock, source.counter()), last);
}

TEST(ClockLine, IsNotThereWhenTheCounterIsNotTheSystemsClock)
{
    FakeSource source;
    source.is_clock = false;
    ClockLine line(source);
    dt_clock clock{};
    line.tend(clock, source.now_ns());
    EXPECT_EQ(clock.seq, 0u);
    source.is_clock = true;
    source.pass(2'000'000'000);
    line.tend(clock, source.now_ns());
    EXPECT_NE(clock.seq, 0u);
    EXPECT_EQ(clock.seq % 2, 0u);
    source.is_clock = false; // the kernel has found the counter to be unstable
    source.pass(2'000'000'000);
    line.tend(clock, source.now_ns());
    EXPECT_EQ(clock.seq, 0u);
}

TEST(ClockLine, IsWithinTwoMicrosecondsOfThisMachinesClock)
{
    ClockSource source;
    if (!source.sample())
        GTEST_SKIP() << "the clock source is not tsc";
    ClockLine line;
    dt_clock clock{};
    std::uint64_t last = 0;
    int n_near = 0;
    for (int i = 0; i < 100; i++) {
        auto sample = source.sample();
        line.tend(clock, sample->mono_ns);
        sample = source.sample();
        std::uint64_t now = read_line(clock, sample->counter);
        EXPECT_GE(now, last);
        auto off = static_cast<std::int64_t>(now - sample->mono_ns);
        n_near += std::abs(off) < 2000;
        EXPECT_LT(std::abs(off), 100'000); // an interrupt may have delayed a sample
        last = now;
        source.rest(5'000'000);
    }
    EXPECT_GE(n_near, 90);
}

} // namespace
