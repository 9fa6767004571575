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
    // `task` returns false if the longer operation is to end as soon as possible.
    explicit PeriodicTask(std::function<bool()> task) : what_(std::move(task)) {}

    // Returns whether the task has returned false.
    bool is_cancelled() const { return cancelled_; }

    // Runs the task if it is due. Must be called about every microsecond.
    void operator()()
    {
        constexpr unsigned steps_per_look = 64;
        if (++n_steps_ % steps_per_look == 0)
            look();
    }
    // Runs the task if it is due. Called in steps that may take much longer.
    void look()
    {
        constexpr std::uint64_t pause_ns = 200'000;
        if (!what_ || monotonic_ns() < next_ns_)
            return;
        cancelled_ = !what_() || cancelled_;
        next_ns_ = monotonic_ns() + pause_ns;
    }

private:
    std::function<bool()> what_;
    bool cancelled_ = false;
    unsigned n_steps_ = 0;
    std::uint64_t next_ns_ = 0;
};

} // namespace dt::agent
