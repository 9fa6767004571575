// SPDX-License-Identifier: MIT
// fds[n]: a file that a thread has open, as /proc tells of it. The file itself is never
// touched, so that neither a slow file system nor a pipe can make us wait.
//
//   path      /proc/PID/task/TID/fd/N, a link: as Linux names the file, also what has no
//             name in a directory ("socket:[7]"), and with " (deleted)" behind it
//   offset,   /proc/PID/task/TID/fdinfo/N
//   flags
//   fs, mount mountinfo, by the mnt_id of fdinfo; ours first, whose view the path is
//
// Of a descriptor that is not open texts are "<none>" and numbers 0; "<unknown>" is what
// /proc would not tell.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>

namespace dt {

// One line of a mountinfo file (proc(5)): where the mount with that id is, and its type.
struct Mount {
    std::string at, type;
};
std::optional<Mount> find_mount(const std::string& mountinfo, std::uint64_t id);

class OpenFile {
public:
    OpenFile(pid_t pid, pid_t tid, std::uint32_t fd);

    // A member by its id, of dif/vars.h's DIF_VAR_FILES; nothing when it is no such.
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
