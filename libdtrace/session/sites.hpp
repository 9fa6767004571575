// SPDX-License-Identifier: MIT
// The sites of a process' enabled probes, in the form in which a backend plants them.
#pragma once

#include "libdtrace/session/session_state.hpp"
#include "ptrace-agent/wire/client.hpp"

#include <vector>

namespace dt {

Mechanism mechanism_of(const Options& options);
Site site_of(std::uint32_t probe, const ProbeSite& at);

// Returns the sites of the process' enabled probes that are not in place yet, and
// appends to `statics` the data that sites of static probes and of indirect jumps need.
std::vector<Site> missing_sites(SessionState& state, ps_prochandle& process,
                                StaticTable& statics);

// Returns the mapped text from which the sites of a process were made. The agent
// refuses sites whose text has changed since.
std::vector<SeenText> seen_text(const ps_prochandle& process);

} // namespace dt
