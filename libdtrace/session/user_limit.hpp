// SPDX-License-Identifier: MIT
// Decides which processes may become targets. If targets share data through the D
// program, all targets must belong to the trust domain of the first target. With -x
// trust=all, all processes belong to one domain.
#pragma once

#include "libdtrace/session/session_state.hpp"

#include <cstdint>
#include <set>
#include <string>

namespace dt {

class UserLimit {
public:
    explicit UserLimit(SessionState& state) : s_(state) {}

    // Returns whether a process may become a target. If not, records the process as
    // omitted. `shared` names the data that targets share
    // (Backend::shared_between_targets()).
    bool admits(pid_t pid, const std::string& shared);
    // Reports the number of omitted processes. Does nothing if all users of these
    // processes have already been reported.
    void report_left_out();

private:
    SessionState& s_;
    std::string shared_;
    std::set<std::uint64_t> left_out_users_, reported_users_;
    std::set<pid_t> left_out_;
};

} // namespace dt
