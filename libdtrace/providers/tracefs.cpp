// SPDX-License-Identifier: MIT
// Finds the mount point of tracefs and reads a file there.
#include "libdtrace/providers/tracefs.hpp"

#include "base/fd.hpp"

#include <cerrno>
#include <fcntl.h>
#include <linux/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace dt {

// Reads an entire file below a directory. The directory is ignored if the path is
// absolute.
static Result<std::string> read_whole(const std::string& path, int folder = AT_FDCWD)
{
    Fd fd(::openat(folder, path.c_str(), O_RDONLY | O_CLOEXEC));
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

// Mounts tracefs at no path. Returns an empty Fd if this user may not mount it.
static Fd own_mount()
{
    const Fd system(static_cast<int>(::syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC)));
    if (!system || ::syscall(SYS_fsconfig, system.get(), FSCONFIG_CMD_CREATE, nullptr,
                             nullptr, 0) != 0)
        return {};
    return Fd(static_cast<int>(
        ::syscall(SYS_fsmount, system.get(), FSMOUNT_CLOEXEC, MOUNT_ATTR_RDONLY)));
}

static bool is_mounted()
{
    return ::access("/sys/kernel/tracing/events", F_OK) == 0 || errno != ENOENT;
}

Result<std::string> read_tracefs(const std::string& file)
{
    for (const char* root : {"/sys/kernel/tracing/", "/sys/kernel/debug/tracing/"}) {
        auto text = read_whole(root + file);
        if (text || text.error().code != Code::not_found)
            return text;
    }
    if (is_mounted())
        return Error{Code::not_found, "the kernel's tracefs has no file " + file};
    static const Fd mount = own_mount();
    if (mount)
        return read_whole(file, mount.get());
    return Error{
        Code::not_found,
        "tracefs is not mounted: mount -t tracefs tracefs /sys/kernel/tracing"};
}

Result<std::string> read_debugfs(const std::string& file)
{
    return read_whole("/sys/kernel/debug/" + file);
}

} // namespace dt
