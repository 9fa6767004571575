// SPDX-License-Identifier: MIT
#include "libdtrace/session/user_limit.hpp"

#include "process/trust_domain.hpp"

#include <algorithm>

namespace dt {

bool UserLimit::admits(pid_t pid, const std::string& shared)
{
    if (shared.empty() || !s_.processes.agents().needs_new_domain(pid))
        return true;
    const auto domain = trust_domain_of(pid);
    if (!domain)
        return true; // the process has exited; grabbing it will report that
    shared_ = shared;
    left_out_.insert(pid);
    left_out_users_.insert(domain->users[0]);
    return false;
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
    s_.complain(counted(left_out_.size(), "process", "processes") + " of " +
                counted(left_out_users_.size(), "other user", "other users") +
                " will not be traced: the program shares " + shared_ +
                " among all targets, and targets of different users do not share "
                "memory. Use an aggregation or a self-> variable instead, or -x "
                "trust=all if they may share memory");
}

} // namespace dt
