// SPDX-License-Identifier: MIT
// The members of D's fds[n], an open file of a thread, taken from /proc. The file
// itself is never accessed, because a slow file system or a pipe could delay the
// caller.
//
//   path      the target of the link /proc/PID/task/TID/fd/N, for example "socket:[7]"
//   offset,   /proc/PID/task/TID/fdinfo/N
//   flags
//   fs, mount mountinfo, by the mnt_id in fdinfo. The caller's own mountinfo is read
//             before the target's, because the path is the one in the caller's mount
//             namespace.
//
// If the descriptor is not open, texts are "<none>" and numbers are 0. "<unknown>"
// means that /proc did not provide the data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>

namespace dt {

// A mount: its mount point, and the type of its file system (mountinfo in proc(5)).
struct Mount {
    std::string at, type;
};
std::optional<Mount> find_mount(const std::string& mountinfo, std::uint64_t id);
// Searches the caller's mountinfo, then that of the process, unless `pid` is 0.
std::optional<Mount> mount_of(pid_t pid, std::uint64_t id);

class OpenFile {
public:
    OpenFile(pid_t pid, pid_t tid, std::uint32_t fd);

    // These functions return a member by its id in DIF_VAR_FILES of dif/vars.h. text()
    // returns nullopt if the member is a number. number() returns nullopt if the member
    // is a string.
    std::optional<std::string> text(std::uint32_t member) const;
    std::optional<std::uint64_t> number(std::uint32_t member) const;

private:
    std::string path() const;
    std::string info() const;
    Mount mount() const;

    pid_t pid_;
    std::string task_, fd_;
};

} // namespace dt
