// SPDX-License-Identifier: MIT
// Options that change while a session is open, from any source: the command line, pragmas of
// programs, setopt().
#pragma once

#include "libdtrace/session/session_state.hpp"

#include <string>
#include <string_view>

namespace dt {

// Changes an option, and at once what depends on it outside of the options.
Options::Refused change_option(SessionState& state, std::string_view name,
                               std::string_view value);
// The same for the C API: a null value is an empty one. Returns 0, or -1 after
// SessionState::fail().
int change_option(SessionState& state, const char* name, const char* value);
// Returns why an option was refused, for people.
std::string refusal_text(Options::Refused refused, std::string_view name);

} // namespace dt
