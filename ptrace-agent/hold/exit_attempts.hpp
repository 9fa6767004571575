// SPDX-License-Identifier: MIT
// The attempts to make one thread leave our code, and the time limit on them.
//
// The limit is long, because a slow disk or a busy machine may delay the thread. It is
// short for a thread that is in a loop. There are two signs of a loop: the thread was
// resumed very often, or its registers have the same values again and again. On a busy
// machine, a thread cannot be resumed very often within the time limit.
#pragma once

#include "base/clock_ns.hpp"
#include "ptrace-agent/hold/wait_budget.hpp"

#include <bit>
#include <cstdint>
#include <cstring>
#include <sys/user.h>

namespace dt::agent {

class ExitAttempts {
public:
    // Called before the thread is resumed.
    void begin_run()
    {
        if (n_runs_++ == 0)
            since_ns_ = monotonic_ns();
    }
    // Compares the registers of the thread, which is stopped in our code, with those of
    // an earlier stop. The stops with the numbers 1, 2, 4, 8 and so on are kept for
    // comparison, so loops of any length are found (Brent's algorithm).
    void add_stop(const user_regs_struct& regs)
    {
        if (n_stops_ != 0 && std::memcmp(&kept_, &regs, sizeof regs) == 0)
            ++n_repeats_;
        if (std::has_single_bit(++n_stops_))
            kept_ = regs;
    }
    // Returns whether the time since the first run exceeds the limit.
    bool is_late() const
    {
        const bool in_loop = n_runs_ >= many_runs || n_repeats_ >= many_repeats;
        return n_runs_ != 0 &&
               monotonic_ns() - since_ns_ > (in_loop ? stop_timeout_ns : slow_exit_ns);
    }

private:
    static constexpr std::uint64_t slow_exit_ns = 10'000'000'000;
    static constexpr std::uint32_t many_runs = 4096;
    // A thread may be interrupted before it has executed an instruction, so a few
    // repeated stops are no loop.
    static constexpr std::uint32_t many_repeats = 64;

    std::uint64_t since_ns_ = 0; // CLOCK_MONOTONIC
    std::uint32_t n_runs_ = 0, n_stops_ = 0, n_repeats_ = 0;
    user_regs_struct kept_{};
};

} // namespace dt::agent
