// SPDX-License-Identifier: MIT
// Debug messages on stderr. They are printed only with -x debug, or if DTRACE_DEBUG is
// set in the environment. All sessions of a process share one switch (_dtrace_debug),
// because existing consumers set this variable directly.
//
//   libdtrace DEBUG 1763792431: library io.d: compiled
#pragma once

namespace dt {

bool debugging();
// Prints one line, with the time in seconds since 1970.
[[gnu::format(printf, 1, 2)]] void debug(const char* format, ...);

} // namespace dt
