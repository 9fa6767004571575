// SPDX-License-Identifier: MIT
// What the library is doing, on stderr, for whoever looks for a cause: the only lines that
// it prints on its own, and only when asked to, by -x debug or DTRACE_DEBUG in the
// environment. One switch for all sessions of a process, as consumers know it
// (_dtrace_debug).
//
//   libdtrace DEBUG 1763792431: library io.d: compiled
#pragma once

namespace dt {

bool debugging();
// A line. The time is in seconds since 1970.
[[gnu::format(printf, 1, 2)]] void debug(const char* format, ...);

} // namespace dt
