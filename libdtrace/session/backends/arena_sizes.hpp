// SPDX-License-Identifier: MIT
// How large the parts of a session's arena are: what options ask for, what the programs can
// use, and what limits and control groups allow.
#pragma once

#include "libdtrace/session/session_state.hpp"

#include <cstdint>

namespace dt {

// Returns how many shards are likely to become full: the first choice of each CPU, and two
// more.
std::uint64_t n_busy_shards();

// Makes sizes and rates of options possible: halves buffers until their memory is available.
// Fails where bufresize=manual forbids that. default_aggsize counts if the user gave no
// aggsize; 0: the general default does. Returns 0, or -1 after SessionState::fail().
int fit_options(SessionState& state, std::uint64_t default_aggsize);

// Makes the arena of a session whose probes fire in processes, no larger than the programs
// and the limits of the targets ask for. Sets charged_to_us if targets have so little memory
// left that this process must touch the arena first. Returns 0, or -1 after
// SessionState::fail().
int make_shared_arena(SessionState& state, bool& charged_to_us);

} // namespace dt
