// SPDX-License-Identifier: MIT
#include "report.hpp"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

static void say_all(const char* format, std::va_list args, const char* behind)
{
    std::fflush(stdout);
    std::fprintf(stderr, "%s: ", program_invocation_short_name);
    std::vfprintf(stderr, format, args);
    if (behind != nullptr)
        std::fprintf(stderr, ": %s", behind);
    std::fputc('\n', stderr);
}

void say(const char* format, ...)
{
    std::va_list args;
    va_start(args, format);
    say_all(format, args, nullptr);
    va_end(args);
}

void die(dtrace_hdl_t* session, const char* format, ...)
{
    std::va_list args;
    va_start(args, format);
    say_all(format, args,
            session != nullptr ? dtrace_errmsg(session, dtrace_errno(session))
                               : nullptr);
    va_end(args);
    if (session != nullptr)
        dtrace_close(session);
    std::exit(1);
}
