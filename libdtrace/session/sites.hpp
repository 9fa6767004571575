// SPDX-License-Identifier: MIT
// Lists the sites of a process's enabled probes in the form that backends take.
#pragma once

#include "libdtrace/session/session_state.hpp"
#include "ptrace-agent/wire/client.hpp"

#include <vector>

namespace dt {

Mechanism mechanism_of(const Options& options);
constexpr bool is_call(SiteKind kind)
{
    return kind == SiteKind::system_call || kind == SiteKind::system_return ||
           kind == SiteKind::new_text;
}
Site site_of(std::uint32_t probe, const ProbeSite& at);

// Returns the unplanted sites of the process's enabled probes. Appends data of static
// probes and indirect jumps to `statics`.
std::vector<Site> missing_sites(SessionState& state, ps_prochandle& process,
                                StaticTable& statics);

// Returns the text from which the sites were computed. The agent refuses sites whose
// text has changed since then.
std::vector<SeenText> seen_text(const ps_prochandle& process);

} // namespace dt
