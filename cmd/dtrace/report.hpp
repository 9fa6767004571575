// SPDX-License-Identifier: MIT
// Messages that dtrace(1) prints on stderr, and names in printable form.
#pragma once

#include <dtrace.h>

#include <string>

// Returns a name from a target with its control characters escaped.
std::string name_text(const char* name);

// Prints "dtrace: TEXT\n".
[[gnu::format(printf, 1, 2)]] void say(const char* format, ...);
// Prints "dtrace: TEXT", followed by the session's error if there is a session, and exits
// with status 1.
[[noreturn, gnu::format(printf, 2, 3)]] void die(dtrace_hdl_t* session,
                                                 const char* format, ...);
