// SPDX-License-Identifier: MIT
// What a backend is asked to make fire in a process: the sites of its enabled probes.
#pragma once

#include "libdtrace/session/session_state.hpp"
#include "ptrace-agent/client.hpp"

#include <vector>

namespace dt {

Mechanism mechanism_of(const Options& options);
Site site_of(std::uint32_t probe, const ProbeSite& at);

// Returns the sites of the process' enabled probes that are not in place yet, and appends to
// statics what the sites of static probes and of indirect jumps need.
std::vector<Site> missing_sites(SessionState& state, ps_prochandle& process,
                                StaticTable& statics);

// Returns the mapped text that the sites of a process were made from. The agent refuses sites
// whose text has changed since.
std::vector<SeenText> seen_text(const ps_prochandle& process);

} // namespace dt
