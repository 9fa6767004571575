// SPDX-License-Identifier: MIT
// What others wait for while something long is under way, done every 0.2 ms of it.
#pragma once

#include "base/clock_ns.hpp"

#include <functional>
#include <utility>

namespace dt::agent {

class PeriodicTask {
public:
    PeriodicTask() = default; // nothing is done
    explicit PeriodicTask(std::function<void()> what) : what_(std::move(what)) {}

    // At each step, of a microsecond or so.
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
