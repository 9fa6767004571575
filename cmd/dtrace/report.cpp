// SPDX-License-Identifier: MIT
#include "report.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

static std::string escaped(const char* text, int is_name)
{
    std::string out(dtrace_printable(text, is_name, nullptr, 0) + 1, '\0');
    dtrace_printable(text, is_name, out.data(), out.size());
    out.pop_back();
    return out;
}

std::string name_text(const char* name)
{
    return escaped(name, 1);
}

// Prints a text on stderr with its control characters escaped, because messages quote
// names from targets.
static void put(const char* text)
{
    std::fputs(escaped(text, 0).c_str(), stderr);
}

static void put_formatted(const char* format, std::va_list args)
{
    char* text = nullptr;
    if (vasprintf(&text, format, args) < 0) {
        std::fputs(format, stderr); // out of memory: print the format string itself
        return;
    }
    put(text);
    std::free(text);
}

void say(const char* format, ...)
{
    std::fputs("dtrace: ", stderr);
    std::va_list args;
    va_start(args, format);
    put_formatted(format, args);
    va_end(args);
    std::fputc('\n', stderr);
}

void die(dtrace_hdl_t* session, const char* format, ...)
{
    std::fflush(stdout);
    std::fputs("dtrace: ", stderr);
    std::va_list args;
    va_start(args, format);
    put_formatted(format, args);
    va_end(args);
    if (session != nullptr) {
        std::fputs(": ", stderr);
        put(dtrace_errmsg(session, dtrace_errno(session)));
        std::fputc('\n', stderr);
        dtrace_close(session); // detaches from all targets
    } else {
        std::fputc('\n', stderr);
    }
    std::exit(1);
}
