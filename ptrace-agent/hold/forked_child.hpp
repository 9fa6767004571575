// SPDX-License-Identifier: MIT
// Restores the text of a child that a target has forked while the agent was away from
// the target (attendance.hpp).
//
// The jumps in the child fire nothing, because the kernel has cleared the word at
// DT_RT_LIVE in its copy of the memory. The child may already run, so the agent stops its
// threads. A thread in our code continues for a moment, until it has left our code.
#pragma once

#include "ptrace-agent/hold/tracees.hpp"

namespace dt::agent {

enum class ChildState {
    restored,
    no_child,    // it shares the target's memory, or has no copy of the target's jumps
    not_stopped, // it did not stop in time, or another process traces it
};

// `space` is the target's memory. Detaches from the child before it returns.
ChildState restore_forked_child(Tracees& tracees, const AddressSpace& space,
                                pid_t child);

} // namespace dt::agent
