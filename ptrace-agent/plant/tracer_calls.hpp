// SPDX-License-Identifier: MIT
// Watches the system calls with which a program prepares to be traced by a process of
// its own (dt_rt_prepares_tracer()). For example, LeakSanitizer creates a task with
// CLONE_UNTRACED, which attaches to all threads. Programs that let a child attach, such
// as crash handlers, call prctl(PR_SET_PTRACER). Before such a call, SelfTracing detaches
// from the process.
//
// Watched are the functions clone() and prctl() of C libraries, and the calls in all
// other mapped files. A watched call has a jump before its syscall instruction. If no
// jump is possible, the call is not watched.
//
// Not covered
//   - calls in libraries that are loaded after the first probes were planted
//   - mappings that are larger than what is left of 64 MB for all mappings
//   - prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY)
//   - calls in other forms, for example through syscall()
//   - programs that attach without one of these calls
//   - programs that are traced with -x mechanism=int3 or uprobe
#pragma once

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
// Stops watching the calls in `fresh` that have no jump. Called after the jumps were
// written.
void leave_tracer_calls_without_jump(AddressSpace& space,
                                     std::vector<Tracepoint*>& fresh);

} // namespace dt::agent
