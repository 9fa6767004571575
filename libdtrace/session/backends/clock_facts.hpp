// SPDX-License-Identifier: MIT
// Decides whether the processor's counter (TSC) may be used as the system's clock. It
// may be used in three cases:
//
// - The kernel's clock source is tsc.
// - The vDSO can read the time without a system call. It can do this with the clock
//   sources of virtual machines only if the TSC is the same on all CPUs. A child
//   process tests this. In the child, the system call clock_gettime() is forbidden.
// - The TSC's rate is constant, and its values agree on all CPUs. This case is for
//   administrators who have chosen another clock source.
#pragma once

#include <string>
#include <string_view>

namespace dt {

struct ClockFacts {
    std::string source;      // the kernel's current clock source; empty if unknown
    bool vdso_alone = false; // the vDSO needs no system call to read the time
    bool one_rate = false;   // the CPU has the flags constant_tsc and nonstop_tsc
    bool cpus_agree = false; // the TSC is the same on all CPUs
};

// Returns the name of the kernel's current clock source, or "" if unreadable.
std::string clock_source_name();

// Determines all facts except the source. Runs a child process for a few milliseconds.
ClockFacts clock_facts(std::string source);

bool counter_is_clock(const ClockFacts& facts);

} // namespace dt
