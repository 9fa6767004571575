// SPDX-License-Identifier: MIT
// The sizes of the parts of a session's arena.
#pragma once

#include "libdtrace/session/session_state.hpp"

#include <cstdint>

namespace dt {

// Returns how many shards are likely to become full: two more than the number of CPUs,
// but at least 4 and at most DT_MAX_SHARDS.
std::uint64_t n_busy_shards();

// Adjusts the sizes and rates in the options to the available memory. Fails if
// bufresize=manual forbids an adjustment, or if the CPU of -x cpu does not exist.
// default_aggsize is used if the user gave no aggsize; 0 means the general default.
// Returns 0, or -1 after SessionState::fail().
int fit_options(SessionState& state, std::uint64_t default_aggsize);

// Makes the arena of a session whose probes fire in processes. If charged_to_us becomes
// true, this process must touch the arena before the targets do. Returns 0, or -1 after
// SessionState::fail().
int make_shared_arena(SessionState& state, bool& charged_to_us);

} // namespace dt
