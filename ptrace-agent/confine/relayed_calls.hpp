// SPDX-License-Identifier: MIT
// Sends the system calls that a confined agent may not make itself to its broker.
//
// The seccomp filter (confinement.cpp) raises SIGSYS for such a call. The handler sends
// the call's arguments, and the memory to which they refer, to the broker. It stores the
// result as the result of the call. So the rest of the agent makes these calls as if it
// were not confined. Only the agent's main thread may make them. All signals are blocked
// in the handler, except while it waits for a target.
#pragma once

#include "base/result.hpp"

#include <array>
#include <sys/types.h>

namespace dt::agent {

// The system calls that the handler emulates.
extern const std::array<int, 13> relayed_calls;

// Installs the handler. `bell` is the eventfd that the broker writes when a target has
// stopped or exited.
Result<Ok> relay_calls(int socket, int bell);

// Returns whether the process is in the domain of the agent's targets. Must be called in
// the main thread of a confined agent.
bool is_in_confined_domain(pid_t pid);

} // namespace dt::agent
