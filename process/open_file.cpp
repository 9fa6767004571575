// SPDX-License-Identifier: MIT
// Reads the members of D's fds[n]. open_file.hpp says which file contains which member.
#include "process/open_file.hpp"

#include "dif/vars.h"
#include "process/proc_files.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <string_view>
#include <unistd.h>

namespace dt {

namespace {

constexpr const char* none = "<none>";
constexpr const char* unknown = "<unknown>";
constexpr std::size_t max_mountinfo = 16 << 20;

// File systems without a mount point, by the prefix of their files' paths.
struct Unmounted {
    std::string_view path, type;
};
// clang-format off
constexpr Unmounted unmounted[] = {
    {"pipe:", "pipefs"},
    {"socket:", "sockfs"},
    {"anon_inode:", "anon_inodefs"},
    {"pidfd:", "pidfs"},
    {"/memfd:", "tmpfs"},
    {"cgroup:[", "nsfs"},
    {"ipc:[", "nsfs"},
    {"mnt:[", "nsfs"},
    {"net:[", "nsfs"},
    {"pid:[", "nsfs"},
    {"time:[", "nsfs"},
    {"user:[", "nsfs"},
    {"uts:[", "nsfs"},
};
// clang-format on

bool begins_with(std::string_view text, std::string_view with)
{
    return text.substr(0, with.size()) == with;
}

std::string name_of(const std::string& path)
{
    return path[0] == '/' && path.size() > 1 ? path.substr(path.rfind('/') + 1) : path;
}

std::string directory_of(const std::string& path)
{
    if (path[0] != '/') // not in a directory
        return path == unknown ? unknown : none;
    std::size_t end = path.rfind('/');
    return end == 0 ? "/" : path.substr(0, end);
}

std::string_view next_field(std::string_view& line)
{
    std::size_t end = line.find(' ');
    std::string_view field = line.substr(0, end);
    line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
    return field;
}

// Decodes a field. The kernel writes a space, tab, newline or backslash as a backslash
// and three octal digits.
std::string unescaped_field(std::string_view text)
{
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\\' && i + 3 < text.size()) {
            plain += static_cast<char>(
                std::strtoul(std::string(text.substr(i + 1, 3)).c_str(), nullptr, 8));
            i += 3;
        } else {
            plain += text[i];
        }
    }
    return plain;
}

} // namespace

std::optional<Mount> find_mount(const std::string& mountinfo, std::uint64_t id)
{
    const std::string begin = std::to_string(id) + " ";
    for (std::size_t at = 0; at < mountinfo.size();) {
        std::size_t end = std::min(mountinfo.find('\n', at), mountinfo.size());
        std::string_view line(mountinfo.data() + at, end - at);
        at = end + 1;
        if (!begins_with(line, begin))
            continue;
        for (int before = 0; before < 4; ++before) // skips ids, device, root
            next_field(line);
        std::string_view point = next_field(line);
        std::size_t optional_end = line.find(" - ");
        if (optional_end == std::string_view::npos)
            return std::nullopt;
        line.remove_prefix(optional_end + 3);
        return Mount{unescaped_field(point), unescaped_field(next_field(line))};
    }
    return std::nullopt;
}

std::optional<Mount> mount_of(pid_t pid, std::uint64_t id)
{
    auto mount = find_mount(read_proc_file(getpid(), "mountinfo", max_mountinfo), id);
    return mount || pid == 0
               ? mount
               : find_mount(read_proc_file(pid, "mountinfo", max_mountinfo), id);
}

OpenFile::OpenFile(pid_t pid, pid_t tid, std::uint32_t fd)
    : pid_(pid), task_("task/" + std::to_string(tid)), fd_(std::to_string(fd))
{
}

std::string OpenFile::path() const
{
    char buffer[PATH_MAX];
    ssize_t n =
        readlink(proc_path(pid_, task_ + "/fd/" + fd_).c_str(), buffer, sizeof buffer);
    if (n > 0)
        return {buffer, static_cast<std::size_t>(n)};
    return n < 0 && errno == ENOENT ? none : unknown;
}

// Returns the first lines of fdinfo: pos, flags, mnt_id. The fdinfo of an epoll
// instance is not read, because that could cause a deadlock. The kernel would take a
// lock that epoll_wait(2) holds while it writes to the program's memory. That write may
// wait (userfaultfd) for the thread whose probe fires.
std::string OpenFile::info() const
{
    if (path() == "anon_inode:[eventpoll]")
        // These lines are the same for every epoll instance.
        return "pos:\t0\nflags:\t02\nmnt_id:\t0\n";
    return read_proc_file(pid_, task_ + "/fdinfo/" + fd_, 256);
}

static std::string_view unmounted_type(const std::string& path)
{
    for (const Unmounted& row : unmounted)
        if (begins_with(path, row.path))
            return row.type;
    return {};
}

Mount OpenFile::mount() const
{
    const std::string at = path();
    if (at == none)
        return {none, none};
    std::string_view type = unmounted_type(at);
    if (at[0] == '/' || type.empty())
        if (auto mount = mount_of(pid_, status_number(info(), "mnt_id")))
            return *mount;
    return type.empty() ? Mount{unknown, unknown} : Mount{none, std::string(type)};
}

std::optional<std::string> OpenFile::text(std::uint32_t member) const
{
    switch (member) {
    case DIF_VAR_fi_name:
        return name_of(path());
    case DIF_VAR_fi_dirname:
        return directory_of(path());
    case DIF_VAR_fi_pathname:
        return path();
    case DIF_VAR_fi_fs:
        return mount().type;
    case DIF_VAR_fi_mount:
        return mount().at;
    default:
        return std::nullopt;
    }
}

std::optional<std::uint64_t> OpenFile::number(std::uint32_t member) const
{
    // The flags of open(2), without O_LARGEFILE, which the kernel adds for 64-bit
    // programs. Higher bits are internal to the kernel.
    constexpr std::uint64_t flags_of_open = 037777777 & ~std::uint64_t{0100000};
    switch (member) {
    case DIF_VAR_fi_offset:
        return status_number(info(), "pos");
    case DIF_VAR_fi_oflags:
        return status_number(info(), "flags", 0, 8) & flags_of_open;
    default:
        return std::nullopt;
    }
}

} // namespace dt
