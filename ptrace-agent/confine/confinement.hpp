// SPDX-License-Identifier: MIT
// Takes all rights from an agent that traces processes of another trust domain.
//
// A hostile target may find a bug in the agent, and take it over. If dtrace runs as root,
// the agent must then not have root's rights. So the agent gets user and group ids that
// no other process has, no capabilities, and a seccomp filter. The filter permits only
// system calls on memory, on descriptors that the agent already has, and on the agent
// itself. The agent's broker makes the calls on targets and files (broker.hpp).
//
// The ids are not the ids of the targets' user, because this user could then kill or
// trace the agent.
#pragma once

#include "base/result.hpp"
#include "process/trust_domain.hpp"

#include <sys/types.h>

namespace dt::agent {

// Starts the broker and gives up all rights. The caller must have no other threads and
// no targets. Returns the process id of the broker. A build with AddressSanitizer does
// not confine the agent and returns 0, because the sanitizer makes other system calls.
Result<pid_t> confine(const TrustDomain& domain);

// Returns the process id of the tracer of all targets: the broker's if the agent is
// confined, otherwise the agent's own.
pid_t tracer_pid();
bool is_confined();

} // namespace dt::agent
