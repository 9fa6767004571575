// SPDX-License-Identifier: MIT
// Decides whether the processor's counter (TSC) may be used as the system's clock.
//
// The TSC may be used if the kernel's clock source is tsc. On most virtual machines,
// the clock source is kvm-clock, hyperv_clocksource_tsc_page or xen, which also compute
// the time from the TSC. There, the vDSO shows whether the kernel trusts the TSC. On
// x86, the vDSO has three ways to read the time without a system call, and all three
// read the TSC. The kernel disables them if the TSC is not the same on all CPUs.
// Therefore a child process in which the system call clock_gettime() is forbidden tries
// to read the time through the vDSO. If the child succeeds, the TSC may be used.
//
// The kernel also disables the three ways if the administrator has chosen another clock
// source (clocksource=hpet). In that case the TSC is used if its rate is the same in
// all states of the processor and its values agree on all CPUs.
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

// Returns the name of the kernel's current clock source. Returns "" if it cannot be
// read.
std::string clock_source_name();

// Determines all facts except the source, which the caller passes. Runs a child process
// for a few milliseconds.
ClockFacts clock_facts(std::string source);

bool counter_is_clock(const ClockFacts& facts);

} // namespace dt
