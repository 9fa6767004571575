// SPDX-License-Identifier: MIT
// The session's clock line (struct dt_clock). The consumer updates it for the runtime
// inside targets, for which a system call to read the time would be too slow.
//
//            ,-- CLOCK_MONOTONIC
//   ns     ,'_,--
//        ,',-'   each line begins at the end of the previous line, and has the slope
//      ,'-'      that reaches CLOCK_MONOTONIC when the next renewal is due
//      counter
//
// Time never goes back. If the line is ahead of the clock, the line's slope is reduced.
// If the line is far behind, it jumps to the current time. If the counter may not be
// used (clock_facts.hpp), seq is 0, and readers use another clock.
#pragma once

#include "dif/arena.h"
#include "libdtrace/session/backends/clock_facts.hpp"

#include <cstdint>
#include <optional>

namespace dt {

// The counter and the clocks, read as close together as possible.
struct ClockSample {
    std::uint64_t counter = 0, mono_ns = 0, wall_ns = 0;
};

// Tests override these functions.
class ClockSource {
public:
    virtual ~ClockSource() = default;
    virtual std::uint64_t counter();
    // Returns nullopt if the counter cannot be used as the clock.
    virtual std::optional<ClockSample> sample();
    virtual void rest(std::uint64_t ns);

private:
    std::optional<ClockFacts> facts_; // for the clock source that sample() found last
};

class ClockLine {
public:
    ClockLine() : source_(&own_source_) {}
    explicit ClockLine(ClockSource& source) : source_(&source) {}
    ClockLine(const ClockLine&) = delete;
    ClockLine& operator=(const ClockLine&) = delete;

    // Renews the line if a renewal is due: frequently at first, and later once a
    // second. The first call takes a millisecond.
    void tend(dt_clock& clock, std::uint64_t now_ns);

private:
    std::uint64_t rate_until(const ClockSample& now);
    void renew(dt_clock& clock, const ClockSample& now);
    void withdraw(dt_clock& clock);
    std::uint64_t line_at(std::uint64_t counter) const;

    ClockSource own_source_;
    ClockSource* source_;
    std::optional<ClockSample> last_; // the sample of the last renewal
    dt_clock line_{};                 // a copy; targets can overwrite the arena's line
    std::uint64_t rate_ = 0;          // ns per count of the counter, times 2^32
    bool doubted_ = false;
    std::uint64_t period_ns_ = 0, due_ns_ = 0;
};

} // namespace dt
