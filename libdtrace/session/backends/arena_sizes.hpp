// SPDX-License-Identifier: MIT
// The sizes of the parts of a session's arena. They follow from the options, the needs
// of the programs, resource limits and control groups.
#pragma once

#include "libdtrace/session/session_state.hpp"

#include <cstdint>

namespace dt {

// Returns how many shards are likely to become full: the number of CPUs plus two, but
// at least 4 and at most DT_MAX_SHARDS.
std::uint64_t n_busy_shards();

// Adjusts the sizes and rates in the options: halves buffers until enough memory is
// available for them, or fails if bufresize=manual forbids that. If the user gave no
// aggsize, uses default_aggsize, or the general default if default_aggsize is 0. Also
// fails if -x cpu names a CPU that does not exist. Returns 0, or -1 after
// SessionState::fail().
int fit_options(SessionState& state, std::uint64_t default_aggsize);

// Makes the arena of a session whose probes fire in processes. It is no larger than the
// programs need and the limits of the targets allow. A page is charged to the control
// group of the process that touches it first. If the targets' groups have little memory
// left, sets charged_to_us to true, and this process must then touch the arena before
// the targets do. Returns 0, or -1 after SessionState::fail().
int make_shared_arena(SessionState& state, bool& charged_to_us);

} // namespace dt
