// SPDX-License-Identifier: MIT
// Watches the system calls with which a program prepares to be traced by a process of
// its own (dt_rt_prepares_tracer()). For example, LeakSanitizer creates a task with
// CLONE_UNTRACED, which attaches to all threads. Programs that let a child attach, such
// as crash handlers, call prctl(PR_SET_PTRACER). Before such a call, Attendance detaches
// from the process.
//
// Watched are the functions clone() and prctl() of C libraries, and the calls in all
// other mapped files. A watched call has a jump before its syscall instruction. If no
// jump is possible, it gets a breakpoint in two cases: clone() outside C libraries, and
// prctl() in C libraries. An untraced task may make the other calls, and the breakpoint
// would kill it. Breakpoints also need a SIGTRAP handler (rescue.hpp), so the target
// must have other breakpoints.
//
// Not covered
//   - calls in libraries that are loaded after the first probes were planted
//   - text beyond the first 64 MB
//   - calls in other forms, for example through syscall()
//   - programs that attach without one of these calls
#pragma once

#include "fasttrap/registers.hpp"
#include "process/maps.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace dt::agent {

class AddressSpace;
class Tracepoint;

// Adds tracepoints for the calls, if that was not done before. Adds those that are new
// to `fresh`.
void watch_tracer_calls(AddressSpace& space, std::span<const Mapping> mappings,
                        std::vector<Tracepoint*>& fresh);
// Stops watching the calls in `fresh` that have no jump and must not get a breakpoint.
// Called after the jumps were written.
void leave_tracer_calls_without_jump(AddressSpace& space,
                                     std::vector<Tracepoint*>& fresh);

// Returns whether a thread with these registers is about to make such a call at a
// tracepoint.
bool prepares_tracer(const Tracepoint& tp, const Registers& regs);

} // namespace dt::agent
