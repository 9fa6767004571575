// SPDX-License-Identifier: MIT
// Finds out whether a target can still execute code that the agent wants to unmap.
//
// A thread executes the code if its pc is there. It can return to the code if its pc was
// there when a signal arrived. The kernel then stored this pc in a signal frame:
//
//   stack of the handler   functions' frames │ signal frame: ..., rsp, rip, flags, cs
//                                                            │
//   interrupted stack  <─────────────────────────────────────┘
//
// The interrupted stack can be a different one, and can contain a signal frame, too. The
// search reads each of these stacks from its stack pointer to the end of its mapping.
// The kernel's values for flags and cs identify a signal frame. The search may also find
// frames of handlers that have returned. In that case, the code counts as used although
// it is not.
#pragma once

#include "ptrace-agent/hold/tracees.hpp"
#include "ptrace-agent/inject/mapped_list.hpp"

#include <span>

namespace dt::agent {

// Returns whether a thread of the stopped target is in one of the ranges, has its stack
// pointer in one of them, or can return to one of them. Also returns true if a thread
// is not stopped, or if the stacks cannot be searched in 100 ms.
bool are_in_use(const StoppedWorld& world, const Tracees& tracees,
                std::span<const AddressRange> ranges);

} // namespace dt::agent
