// SPDX-License-Identifier: MIT
#pragma once

#include "libdtrace/session/sampling/perf_events.hpp"
#include "libdtrace/session/session_state.hpp"

namespace dt {

// Returns what the samples must contain for the clauses at profile-n probes.
PerfOptions sample_contents(const SessionState& state);
// Returns whether the programs have no probes in targets except profile-n, and the
// clauses at these probes need nothing but samples. For example, copyinstr() needs the
// memory of the process at the time of the sample.
bool needs_only_samples(const SessionState& state);

} // namespace dt
