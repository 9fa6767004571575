// SPDX-License-Identifier: MIT
// Finds the mount point of tracefs and reads a file there.
#include "libdtrace/providers/tracefs.hpp"

#include "base/fd.hpp"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace dt {

static Result<std::string> read_whole(const std::string& path)
{
    Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd)
        return errno_error("open " + path);
    std::string text;
    for (;;) {
        char chunk[65536];
        ssize_t n = ::read(fd.get(), chunk, sizeof chunk);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno_error("read " + path);
        if (n == 0)
            return text;
        text.append(chunk, static_cast<std::size_t>(n));
    }
}

Result<std::string> read_tracefs(const std::string& file)
{
    for (const char* root : {"/sys/kernel/tracing/", "/sys/kernel/debug/tracing/"}) {
        auto text = read_whole(root + file);
        if (text || text.error().code != Code::not_found)
            return text;
    }
    return Error{
        Code::not_found,
        "tracefs is not mounted: mount -t tracefs tracefs /sys/kernel/tracing"};
}

Result<std::string> read_debugfs(const std::string& file)
{
    return read_whole("/sys/kernel/debug/" + file);
}

} // namespace dt
