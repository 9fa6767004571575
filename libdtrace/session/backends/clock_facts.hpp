// SPDX-License-Identifier: MIT
// Decides whether the processor's counter (TSC) may be used as the system's clock.
//
// The TSC may be used if the kernel's clock source is tsc. Clock sources of virtual
// machines also use the TSC. With these sources, the vDSO shows whether the kernel
// trusts the TSC. The vDSO can read the time without a system call only if the TSC is
// the same on all CPUs. A child process in which clock_gettime() is forbidden tests
// whether the vDSO can do this.
//
// If the administrator has chosen another clock source, the vDSO always needs a system
// call. In this case, the TSC is used if its rate is constant and its values agree on
// all CPUs.
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
