// SPDX-License-Identifier: MIT
// Decides whether the processor's counter (TSC) may be used as the system's clock.
//
// The name of the kernel's clock source is not enough: on most virtual machines it is
// kvm-clock, hyperv_clocksource_tsc_page or xen, which compute the time from the TSC.
// The vDSO gives the kernel's own answer. On x86 it has three ways to read the time
// without a system call, and all three read the TSC. The kernel disables them when the
// TSC is not the same on all CPUs. So a child that may not make the system call reads
// the time through the vDSO.
//
// A clock source that is chosen by hand (clocksource=hpet) disables them, too. Then the
// TSC is used if it has one rate in all states of the processor and agrees on all CPUs.
#pragma once

#include <string>
#include <string_view>

namespace dt {

struct ClockFacts {
    std::string source;      // current_clocksource; empty: unknown
    bool vdso_alone = false; // the vDSO needs no system call to read the time
    bool one_rate = false;   // constant_tsc and nonstop_tsc
    bool cpus_agree = false; // counters agree about the time
};

// Returns the name of the kernel's current clock source. Returns "" if it cannot be
// read.
std::string clock_source_name();

// Finds the other facts. Runs a child process for a few milliseconds.
ClockFacts clock_facts(std::string source);

bool counter_is_clock(const ClockFacts& facts);

} // namespace dt
