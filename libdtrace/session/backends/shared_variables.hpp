// SPDX-License-Identifier: MIT
// Finds data of D programs that all targets must share in one arena.
//
// Each trust domain has an arena with its own global variables. After each of its
// clauses (BEGIN, tick), the consumer copies its scalar variables to the other arenas.
// The copies are not sufficient if
//   - a clause that fires in targets writes a global variable
//   - a clause of the consumer writes an element of an associative array, and a clause
//     that fires in targets reads elements of this array
//   - clauses of both kinds use speculations
#pragma once

#include "libdtrace/session/session_state.hpp"

#include <string>

namespace dt {

// Returns the name of data that must be shared, for example "the variable n". Returns
// "" if there is no such data.
std::string shared_between_targets(const SessionState& state);

} // namespace dt
