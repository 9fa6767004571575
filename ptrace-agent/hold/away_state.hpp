// SPDX-License-Identifier: MIT
// The state of one address space that Attendance (attendance.hpp) and SelfTracing
// (self_tracing.hpp) keep.
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
    // Another tracer holds the process, or is expected to attach to it (SelfTracing).
    bool is_kept_out = false;
    // The monotonic time at which SelfTracing gives up detaching, or 0 if no thread
    // waits for it.
    std::uint64_t detach_ends_ns = 0;
    std::uint64_t pause_ns = 0; // until SelfTracing tries again to detach
    // The monotonic time until which the process's own tracer is expected, or 0.
    std::uint64_t tracer_ends_ns = 0;
    // The start of the current period, which limits the next two numbers: how often
    // SelfTracing has tried to detach, and calls of prctl(PR_SET_PTRACER) that did not
    // name a descendant.
    std::uint64_t period_began_ns = 0;
    unsigned n_attempts = 0, n_strangers = 0;
    // Whether the user has been informed that the process cannot trace itself, and what
    // is missed while it does.
    bool reported_failure = false, reported_missed = false;
    Fd process;               // a pidfd, to notice the exit of the process
    std::set<pid_t> children; // forked children that have been restored
};

} // namespace dt::agent
