// SPDX-License-Identifier: MIT
// What Attendance (attendance.hpp) records about one address space.
#pragma once

#include "base/fd.hpp"

#include <cstdint>
#include <set>
#include <string>
#include <sys/types.h>

namespace dt::agent {

constexpr std::uint64_t min_idle_ns = 1'000'000'000;

struct AwayState {
    // Whether jumps are planned so that a debugger's breakpoints do no harm.
    bool is_wanted = false;
    // The monotonic time from which the agent may detach.
    std::uint64_t not_before_ns = 0;
    // How long the agent stays attached after it was needed. Doubles each time a thread
    // summons the agent.
    std::uint64_t idle_ns = min_idle_ns;
    unsigned n_tries = 0;     // attempts to detach that found a thread in the engine
    bool has_forked = false;  // the agent stays attached, so that it sees each fork
    bool is_summoned = false; // a thread waits for the agent
    bool is_kept_out = false; // another tracer holds the process
    Fd process;               // a pidfd, to notice the exit of the process
    std::set<pid_t> children; // forked children that have been restored
};

} // namespace dt::agent
