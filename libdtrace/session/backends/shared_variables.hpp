// SPDX-License-Identifier: MIT
// Finds data of D programs that all targets must share in one arena.
//
// Each trust domain has its own arena, and therefore its own copies of global
// variables. The consumer copies scalar variables from its own arena to other arenas
// after each of its clauses (BEGIN, tick). Other uses would give different results
// with one arena and with several:
//   - a clause that fires in targets writes the variable
//   - a clause of the consumer writes an element of an associative array, and a clause
//     that fires in targets reads elements of this array
//   - clauses of both kinds use speculations, so they may use the same speculation
#pragma once

#include "libdtrace/session/session_state.hpp"

#include <string>

namespace dt {

// Returns a name for such data in the enabled programs, for example "the variable n".
// Returns "" if the programs have no such data.
std::string shared_between_targets(const SessionState& state);

} // namespace dt
