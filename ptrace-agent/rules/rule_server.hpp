// SPDX-License-Identifier: MIT
// The process that reads call frame information for the agent, in a jail.
#pragma once

#include "base/fd.hpp"

namespace dt::agent {

// Enters the jail, answers requests until the socket closes, and returns.
void serve_rules(Fd socket);

} // namespace dt::agent
