// SPDX-License-Identifier: MIT
// Messages that lockstat(1) prints on stderr.
#pragma once

#include <dtrace.h>

// Prints "lockstat: TEXT\n".
[[gnu::format(printf, 1, 2)]] void say(const char* format, ...);
// Prints "lockstat: TEXT", followed by the session's error if there is one, and exits with
// status 1.
[[noreturn, gnu::format(printf, 2, 3)]] void die(dtrace_hdl_t* session,
                                                 const char* format, ...);
