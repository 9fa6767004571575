// SPDX-License-Identifier: MIT
// The session's clock line (struct dt_clock). The consumer keeps it for hosts that
// cannot afford to ask the kernel for the time: the runtime inside targets.
//
//            ,-- CLOCK_MONOTONIC
//   ns     ,'_,--
//        ,',-'   each line begins at the end of the one before, and has the slope
//      ,'-'      that reaches CLOCK_MONOTONIC when the next renewal is due
//      counter
//
// A reader never sees time go back: a line that is ahead is only made slower. A line
// that has fallen far behind (the machine slept, the consumer was stopped) jumps ahead.
// The line is valid only while the processor's counter may be used as the kernel's
// clock (clock_facts.hpp). Otherwise seq is 0, and readers get the time in another way.
#pragma once

#include "dif/arena.h"
#include "libdtrace/session/backends/clock_facts.hpp"

#include <cstdint>
#include <optional>

namespace dt {

// The counter and the clocks at one moment, as exactly as possible.
struct ClockSample {
    std::uint64_t counter = 0, mono_ns = 0, wall_ns = 0;
};

// Reads the counter and the clocks. Tests override it.
class ClockSource {
public:
    virtual ~ClockSource() = default;
    virtual std::uint64_t counter();
    // Returns nothing if the counter cannot be used as this system's clock now.
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

    // Renews the line when it is time: at first often, then every second. The very
    // first call takes a millisecond, to measure the counter's rate.
    void tend(dt_clock& clock, std::uint64_t now_ns);

private:
    std::uint64_t rate_until(const ClockSample& now);
    void renew(dt_clock& clock, const ClockSample& now);
    void withdraw(dt_clock& clock);
    std::uint64_t line_at(std::uint64_t counter) const;

    ClockSource own_source_;
    ClockSource* source_;
    std::optional<ClockSample> last_; // of the last renewal
    dt_clock line_{};        // the line as written; targets can overwrite the arena's
    std::uint64_t rate_ = 0; // ns << 32 per count
    bool doubted_ = false;
    std::uint64_t period_ns_ = 0, due_ns_ = 0;
};

} // namespace dt
