// SPDX-License-Identifier: MIT
// The reader process: parses files for dtrace, in a jail.
#pragma once

#include "base/fd.hpp"

namespace dt {

// Enters the jail, answers requests until the socket closes, and returns.
void serve_reader(Fd socket);

} // namespace dt
