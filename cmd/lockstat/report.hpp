// SPDX-License-Identifier: MIT
// What lockstat(1) says on stderr.
#pragma once

#include <dtrace.h>

// "lockstat: TEXT\n"
[[gnu::format(printf, 1, 2)]] void say(const char* format, ...);
// The same, the session's error behind it if there is one; exits with status 1.
[[noreturn, gnu::format(printf, 2, 3)]] void die(dtrace_hdl_t* session,
                                                 const char* format, ...);
