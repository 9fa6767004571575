// SPDX-License-Identifier: MIT
// Guests are the sessions of an ordinary user at a confined agent of root.
//
//   dtrace of root ──starts──> confined agent <──joins── dtrace of the targets' user
//                                └─> broker ──ptrace──> targets of this user's domain
//
// The broker limits the agent to processes that the user controls, so a guest that takes
// over the agent gains no rights. A guest may only trace processes that the agent already
// traces, and only those to which the user could attach. It cannot start or kill
// processes, and its memory in the agent is limited.
//
// A guest can disturb root's session at these processes only as a target of the user can:
// the user can kill the processes, and can write to the memory that they share with
// root's session.
#pragma once

#include "base/result.hpp"
#include "process/trust_domain.hpp"
#include "ptrace-agent/hold/tracees.hpp"
#include "ptrace-agent/wire/mailbox.hpp"

#include <cstddef>
#include <sys/types.h>

namespace dt::agent {

constexpr std::size_t max_guests = 4;
// The memory for the unread requests, and for the unsent replies and events, of a guest.
constexpr std::size_t max_guest_bytes = 16 << 20;
constexpr std::size_t max_guest_timers = 64;
constexpr std::size_t max_guest_sites = 200'000;

// Returns an error if a guest may not make this request. `domain` is the domain of the
// guest and of the agent. `client` is the guest's process.
Result<Ok> check_guest(const Request& request, const Tracees& tracees,
                       const TrustDomain& domain, pid_t client);

// Returns an error if a guest would have more than max_guest_sites probes. `n_new` is the
// number of sites in its request. Other sessions have no limit.
Result<Ok> check_number(const Tracees& tracees, std::size_t n_new);

} // namespace dt::agent
