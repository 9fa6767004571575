// SPDX-License-Identifier: MIT
// Decides which processes may become targets, depending on their users. All targets of
// a session write to shared memory, so one target can corrupt another target's records.
// Therefore, if the user of dtrace did not name the processes, only those of dtrace's
// user and of one other user become targets. Processes of any further user become
// targets only with -x trust=all.
#pragma once

#include "libdtrace/session/session_state.hpp"

#include <cstdint>
#include <optional>
#include <set>

namespace dt {

class UserLimit {
public:
    explicit UserLimit(SessionState& state) : s_(state) {}

    // Returns whether a process may become a target. If not, records the process as
    // omitted.
    bool admits(pid_t pid);
    // Reports the omitted processes if one of their users has not been reported yet.
    void report_left_out();

private:
    SessionState& s_;
    std::optional<std::uint64_t> other_user_; // the first user that is not dtrace's own
    std::set<std::uint64_t> left_out_users_, reported_users_;
    std::set<pid_t> left_out_;
};

} // namespace dt
