// SPDX-License-Identifier: MIT
// A task that must run about every 0.2 ms during a longer operation. For example, the
// agent passes signals on to a running target while it plants probes.
#pragma once

#include "base/clock_ns.hpp"

#include <functional>
#include <utility>

namespace dt::agent {

class PeriodicTask {
public:
    PeriodicTask() = default; // does nothing
    explicit PeriodicTask(std::function<void()> task) : what_(std::move(task)) {}

    // Runs the task if it is due. Must be called about every microsecond.
    void operator()()
    {
        constexpr unsigned steps_per_look = 64;
        constexpr std::uint64_t pause_ns = 200'000;
        if (!what_ || ++n_steps_ % steps_per_look != 0 || monotonic_ns() < next_ns_)
            return;
        what_();
        next_ns_ = monotonic_ns() + pause_ns;
    }

private:
    std::function<void()> what_;
    unsigned n_steps_ = 0;
    std::uint64_t next_ns_ = 0;
};

} // namespace dt::agent
