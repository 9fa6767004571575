// SPDX-License-Identifier: MIT
#include "report.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

void say(const char* format, ...)
{
    std::fputs("dtrace: ", stderr);
    std::va_list args;
    va_start(args, format);
    std::vfprintf(stderr, format, args);
    va_end(args);
    std::fputc('\n', stderr);
}

void die(dtrace_hdl_t* session, const char* format, ...)
{
    std::fflush(stdout);
    std::fputs("dtrace: ", stderr);
    std::va_list args;
    va_start(args, format);
    std::vfprintf(stderr, format, args);
    va_end(args);
    if (session != nullptr) {
        std::fprintf(stderr, ": %s\n", dtrace_errmsg(session, dtrace_errno(session)));
        // Lets go of all targets.
        dtrace_close(session);
    } else {
        std::fputc('\n', stderr);
    }
    std::exit(1);
}
