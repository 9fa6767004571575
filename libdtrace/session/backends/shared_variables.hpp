// SPDX-License-Identifier: MIT
// Finds the data of D programs that require all targets to share memory.
//
// Each trust domain has its own arena, and therefore its own copies of global variables.
// The consumer copies scalar variables from its own arena to other arenas after each of
// its clauses (BEGIN, tick). Other uses would give different results with one arena and
// with several:
//   - a clause that fires in targets writes the variable
//   - a clause of the consumer writes an element of an associative array, and a clause
//     that fires in targets reads elements of this array
//   - clauses of both kinds use speculations, which may be the same ones
#pragma once

#include "libdtrace/session/session_state.hpp"

#include <string>

namespace dt {

// Returns a name for such data of the enabled programs, for example "the variable n", or
// "" if there is none.
std::string shared_between_targets(const SessionState& state);

} // namespace dt
