// SPDX-License-Identifier: MIT
// D's builtin variables that /proc contains for a thread: rows NUMBER and STRING of
// dif/vars.h. The values are those of the time of the call. For a thread that has
// exited, numbers are 0 and texts are empty.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>

namespace dt {

class TaskVars {
public:
    TaskVars(pid_t pid, pid_t tid) : pid_(pid), tid_(tid) {}

    // `index` is a descriptor of the process if `id` is a member of fds[]. Returns nullopt
    // if /proc does not contain the variable, or if it is not a number.
    std::optional<std::uint64_t> number(std::uint32_t id, std::uint32_t index);
    // Returns "" if /proc does not contain the variable, or if it is a number.
    std::string text(std::uint32_t id, std::uint32_t index) const;
    // Returns whether the thread has not exited.
    bool exists() { return !status().empty(); }

private:
    const std::string& status();

    pid_t pid_, tid_;
    std::string status_; // the status file of the thread; empty until status() reads it
};

} // namespace dt
