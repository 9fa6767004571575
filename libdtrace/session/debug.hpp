// SPDX-License-Identifier: MIT
// Debug messages on stderr, with -x debug or if DTRACE_DEBUG is set. All sessions of a
// process share one switch, _dtrace_debug, because existing consumers set it directly.
//
//   libdtrace DEBUG 1763792431: library io.d: compiled
#pragma once

namespace dt {

bool debugging();
// Prints one line, with the time in seconds since 1970.
[[gnu::format(printf, 1, 2)]] void debug(const char* format, ...);

} // namespace dt
