// SPDX-License-Identifier: MIT
// Changes options of an open session. The change may come from the command line, from a
// pragma in a program, or from a call to setopt().
#pragma once

#include "libdtrace/session/session_state.hpp"

#include <string>
#include <string_view>

namespace dt {

// Changes an option, and applies it immediately to everything that depends on it.
// Returns Refused::none, or the reason why the option was refused.
Options::Refused change_option(SessionState& state, std::string_view name,
                               std::string_view value);
// Changes an option for the C API. Treats a null value as an empty string. Returns 0,
// or -1 after SessionState::fail().
int change_option(SessionState& state, const char* name, const char* value);
// Returns a message that says why an option was refused.
std::string refusal_text(Options::Refused refused, std::string_view name);

} // namespace dt
