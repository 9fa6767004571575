// SPDX-License-Identifier: MIT
// Prints the messages of a command on stderr. Each message begins with the name of the
// command.
#pragma once

#include <dtrace.h>

// Prints "NAME: TEXT\n" on stderr.
[[gnu::format(printf, 1, 2)]] void say(const char* format, ...);
// Prints "NAME: TEXT" on stderr. If there is a session, adds its last error and
// closes it. Then exits with status 1.
[[noreturn, gnu::format(printf, 2, 3)]] void die(dtrace_hdl_t* session,
                                                 const char* format, ...);
