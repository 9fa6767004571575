// SPDX-License-Identifier: MIT
#include "ptrace-agent/hold/exit_attempts.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace dt::agent {

// Adds stops of a thread whose loop has `n_different` instructions.
static void add_stops(ExitAttempts& attempts, unsigned n_stops, unsigned n_different)
{
    for (unsigned i = 0; i < n_stops; ++i) {
        user_regs_struct regs{};
        regs.rip = i % n_different;
        attempts.begin_run();
        attempts.add_stop(regs);
    }
}

TEST(ExitAttempts, OfAThreadInALoopEndEarly)
{
    ExitAttempts at_one_instruction, in_short_loop, in_long_loop, advancing, unused;
    add_stops(at_one_instruction, 80, 1);
    add_stops(in_short_loop, 800, 3);
    add_stops(in_long_loop, 4096, 4096);
    add_stops(advancing, 4095, 4096);
    EXPECT_FALSE(at_one_instruction.is_late());
    usleep((stop_timeout_ns + 20'000'000) / 1000);
    EXPECT_TRUE(at_one_instruction.is_late());
    EXPECT_TRUE(in_short_loop.is_late());
    EXPECT_TRUE(in_long_loop.is_late());
    EXPECT_FALSE(advancing.is_late());
    EXPECT_FALSE(unused.is_late());
}

} // namespace dt::agent
