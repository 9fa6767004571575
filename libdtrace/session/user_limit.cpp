// SPDX-License-Identifier: MIT
#include "libdtrace/session/user_limit.hpp"

#include "process/proc_files.hpp"

#include <algorithm>
#include <unistd.h>

namespace dt {

bool UserLimit::admits(pid_t pid)
{
    if (s_.options.trust == TrustOption::all)
        return true;
    const std::string status = read_proc_file(pid, "status");
    if (status.empty())
        return true; // the process has exited; grabbing it will report that
    const std::uint64_t ours = ::geteuid();
    for (int n = 0; n < 4; n++) { // real, effective, saved, and file system id
        const std::uint64_t user = status_number(status, "Uid", n);
        if (user == ours)
            continue;
        if (!other_user_)
            other_user_ = user;
        if (user == *other_user_)
            continue;
        left_out_.insert(pid);
        left_out_users_.insert(user);
        return false;
    }
    return true;
}

void UserLimit::report_left_out()
{
    if (std::includes(reported_users_.begin(), reported_users_.end(),
                      left_out_users_.begin(), left_out_users_.end()))
        return;
    reported_users_ = left_out_users_;
    auto counted = [](std::size_t n, const char* one, const char* several) {
        return std::to_string(n) + " " + (n == 1 ? one : several);
    };
    s_.complain(
        counted(left_out_.size(), "process", "processes") + " of " +
        counted(left_out_users_.size(), "other user", "other users") +
        " will not be traced: all targets write to the same memory, and processes of "
        "user " +
        std::to_string(*other_user_) +
        " are already traced. Name processes with -p, or trace all users with -x "
        "trust=all");
}

} // namespace dt
