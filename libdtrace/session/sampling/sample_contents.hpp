// SPDX-License-Identifier: MIT
#pragma once

#include "libdtrace/session/sampling/perf_events.hpp"
#include "libdtrace/session/session_state.hpp"

#include <functional>
#include <string>

namespace dt {

// Returns what the samples must contain for the clauses at the probes for which
// is_sampled() returns true. The registers are those of the user.
PerfContents sample_contents(const SessionState& state,
                             const std::function<bool(std::uint32_t)>& is_sampled);
// Returns what the samples must contain for the clauses at profile-n probes.
PerfContents profile_contents(const SessionState& state);
// Returns whether the programs have no probes in targets except profile-n, and the
// clauses at these probes need nothing but samples. For example, copyinstr() needs the
// memory of the process at the time of the sample.
bool needs_only_samples(const SessionState& state);
// Returns the name of a profile-n probe with a clause that changes the sampled process,
// although the process has continued since the sample. Returns "" if there is none.
std::string changed_after_sample(const SessionState& state);
// Returns why a clause cannot be executed after the kernel has recorded its event, or
// "". The text names the probe.
std::string why_not_recorded(const SessionState& state);

} // namespace dt
