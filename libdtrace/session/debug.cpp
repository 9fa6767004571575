// SPDX-License-Identifier: MIT
#include "libdtrace/session/debug.hpp"

#include "libdtrace/api/include/dtrace.h"

#include <cerrno>
#include <cstdarg>
#include <ctime>
#include <string>

int _dtrace_debug = 0;

namespace dt {

bool debugging()
{
    return _dtrace_debug != 0;
}

void debug(const char* format, ...)
{
    if (!debugging())
        return;
    const int saved = errno;
    char text[1024];
    std::va_list args;
    va_start(args, format);
    std::vsnprintf(text, sizeof text, format, args);
    va_end(args);
    // One call writes the line, so that lines of different threads are not mixed.
    std::string line =
        "libdtrace DEBUG " + std::to_string(std::time(nullptr)) + ": " + text + "\n";
    std::fputs(line.c_str(), stderr);
    errno = saved;
}

} // namespace dt
