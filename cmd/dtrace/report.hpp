// SPDX-License-Identifier: MIT
// Messages that dtrace(1) prints on stderr, and names in printable form.
#pragma once

#include <dtrace.h>

#include <string>

// Returns a name of a target with its control characters escaped.
std::string name_text(const char* name);

// "dtrace: TEXT\n"
[[gnu::format(printf, 1, 2)]] void say(const char* format, ...);
// The same and the session's error behind it; exits with status 1.
[[noreturn, gnu::format(printf, 2, 3)]] void die(dtrace_hdl_t* session,
                                                 const char* format, ...);
