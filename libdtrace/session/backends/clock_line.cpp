// SPDX-License-Identifier: MIT
#include "libdtrace/session/backends/clock_line.hpp"

#include "base/clock_ns.hpp"
#include "libdtrace/session/debug.hpp"

#include <algorithm>
#include <string>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace dt {

constexpr std::uint64_t shortest_ns = 10'000'000, longest_ns = 1'000'000'000;
constexpr std::uint64_t first_look_ns = 1'000'000;
constexpr std::int64_t far_behind_ns = 1'000'000;
constexpr unsigned line_shift = 32;

std::uint64_t ClockSource::counter()
{
#if defined(__x86_64__)
    return __rdtsc();
#else
    return 0;
#endif
}

std::optional<ClockSample> ClockSource::sample()
{
#if !defined(__x86_64__)
    return std::nullopt;
#endif
    std::string name = clock_source_name();
    if (!facts_ || facts_->source != name) {
        facts_ = name == "tsc" ? ClockFacts{name, true} : clock_facts(name);
        debug("the clock source is %s: the vDSO %s, the TSC %s, and the CPUs %s on its "
              "value; %s",
              name.c_str(), facts_->vdso_alone ? "reads it" : "does not read it",
              facts_->one_rate ? "has a constant rate"
                               : "is not known to have a constant rate",
              facts_->cpus_agree ? "agree" : "are not known to agree",
              counter_is_clock(*facts_) ? "time is read from the TSC"
                                        : "targets get the time from the agent");
    }
    if (!counter_is_clock(*facts_))
        return std::nullopt;
    // Keeps the sample with the shortest time between the two readings of the counter.
    ClockSample best;
    std::uint64_t least = ~0ull;
    for (int i = 0; i < 8; i++) {
        std::uint64_t before = counter();
        std::uint64_t mono = clock_ns(CLOCK_MONOTONIC);
        std::uint64_t after = counter();
        if (after - before >= least)
            continue;
        least = after - before;
        best = {before + least / 2, mono, 0};
    }
    std::uint64_t since = clock_ns(CLOCK_MONOTONIC) - best.mono_ns;
    best.wall_ns = clock_ns(CLOCK_REALTIME) - since;
    return best;
}

void ClockSource::rest(std::uint64_t ns)
{
    timespec pause{0, static_cast<long>(ns)};
    nanosleep(&pause, nullptr);
}

static std::uint64_t scaled(std::uint64_t counts, std::uint64_t mult, unsigned shift)
{
    return static_cast<std::uint64_t>(static_cast<unsigned __int128>(counts) * mult >>
                                      shift);
}

std::uint64_t ClockLine::line_at(std::uint64_t counter) const
{
    if (counter < line_.tsc)
        return line_.mono_ns;
    return line_.mono_ns + scaled(counter - line_.tsc, line_.mult, line_.shift);
}

// Returns the rate since the previous renewal, in ns << line_shift per count. If the
// rate changes by more than 1/64, ignores the change once, because the machine may have
// slept or been migrated.
std::uint64_t ClockLine::rate_until(const ClockSample& now)
{
    std::uint64_t rate = rate_;
    if (now.counter > last_->counter && now.mono_ns > last_->mono_ns)
        rate = static_cast<std::uint64_t>(
            (static_cast<unsigned __int128>(now.mono_ns - last_->mono_ns)
             << line_shift) /
            (now.counter - last_->counter));
    const std::uint64_t change = rate > rate_ ? rate - rate_ : rate_ - rate;
    if (rate_ != 0 && change > rate_ / 64 && !doubted_) {
        doubted_ = true;
        return rate_;
    }
    doubted_ = false;
    rate_ = rate;
    return rate;
}

void ClockLine::renew(dt_clock& clock, const ClockSample& now)
{
    const std::uint64_t rate = rate_until(now);
    if (rate == 0)
        return;
    std::uint64_t mult = rate;
    bool jump = line_.seq == 0;
    if (!jump) {
        auto ahead = static_cast<std::int64_t>(line_at(now.counter) - now.mono_ns);
        auto period = static_cast<std::int64_t>(period_ns_);
        jump = ahead < -far_behind_ns;
        std::int64_t to_run = std::clamp(period - ahead, period / 2, period * 2);
        if (!jump)
            mult = static_cast<std::uint64_t>(static_cast<unsigned __int128>(rate) *
                                              static_cast<std::uint64_t>(to_run) /
                                              period_ns_);
    }
    // From here on, readers ignore the old line.
    const std::uint32_t seq = line_.seq == ~0u - 1 ? 0 : line_.seq;
    __atomic_store_n(&clock.seq, seq + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    const std::uint64_t start = source_->counter();
    const std::uint64_t since = start > now.counter ? start - now.counter : 0;
    const std::uint64_t passed = scaled(since, rate, line_shift);
    line_.mono_ns =
        jump ? std::max(now.mono_ns + passed, line_at(start)) : line_at(start);
    line_.wall_ns = now.wall_ns + passed;
    line_.tsc = start;
    line_.mult = mult;
    line_.shift = line_shift;
    line_.seq = seq + 2;
    __atomic_store_n(&clock.tsc, line_.tsc, __ATOMIC_RELAXED);
    __atomic_store_n(&clock.mono_ns, line_.mono_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&clock.wall_ns, line_.wall_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&clock.mult, line_.mult, __ATOMIC_RELAXED);
    __atomic_store_n(&clock.shift, line_.shift, __ATOMIC_RELAXED);
    __atomic_store_n(&clock.seq, line_.seq, __ATOMIC_RELEASE);
}

void ClockLine::withdraw(dt_clock& clock)
{
    __atomic_store_n(&clock.seq, 0, __ATOMIC_RELEASE);
    line_ = {};
    last_.reset();
    rate_ = 0;
}

void ClockLine::tend(dt_clock& clock, std::uint64_t now_ns)
{
    const bool there = __atomic_load_n(&clock.seq, __ATOMIC_RELAXED) == line_.seq;
    if (now_ns < due_ns_ && there) // the arena of a new session has no line yet
        return;
    auto now = source_->sample();
    if (now && !last_) {
        last_ = now;
        source_->rest(first_look_ns);
        now = source_->sample();
        period_ns_ = 0;
    }
    period_ns_ = std::clamp(2 * period_ns_, shortest_ns, longest_ns);
    due_ns_ = now_ns + period_ns_;
    if (!now) {
        withdraw(clock);
        return;
    }
    renew(clock, *now);
    last_ = now;
}

} // namespace dt
