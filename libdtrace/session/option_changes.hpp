// SPDX-License-Identifier: MIT
// Changes options of an open session, for the command line, pragmas and setopt().
#pragma once

#include "libdtrace/session/session_state.hpp"

#include <string>
#include <string_view>

namespace dt {

// Changes an option, and applies the change immediately. Returns Refused::none, or why
// the option was refused.
Options::Refused change_option(SessionState& state, std::string_view name,
                               std::string_view value);
// Does the same for the C API. A null value is an empty string. Returns 0, or -1 after
// SessionState::fail().
int change_option(SessionState& state, const char* name, const char* value);
std::string refusal_text(Options::Refused refused, std::string_view name);

} // namespace dt
