// SPDX-License-Identifier: MIT
// Prints the messages of dtrace(1) on stderr, and makes names printable.
#pragma once

#include <dtrace.h>

#include <string>

// Returns a name from a target with its control characters escaped.
std::string name_text(const char* name);

// Prints "dtrace: TEXT\n" on stderr.
[[gnu::format(printf, 1, 2)]] void say(const char* format, ...);
// Prints "dtrace: TEXT" on stderr. If there is a session, adds its last error and
// closes it. Then exits with status 1.
[[noreturn, gnu::format(printf, 2, 3)]] void die(dtrace_hdl_t* session,
                                                 const char* format, ...);
