// SPDX-License-Identifier: MIT
// The targets of a session whose profile-n probes fire in the consumer. Forks and execs
// take effect when the kernel has recorded them, before the agent reports them.
#pragma once

#include "libdtrace/session/sampling/perf_sample.hpp"

#include <map>
#include <sys/types.h>

namespace dt {

class SampledTargets {
public:
    // Whether children become targets, and whether they remain targets when they execute
    // another program.
    SampledTargets(bool follows_forks, bool follows_execs)
        : follows_forks_(follows_forks), follows_execs_(follows_execs)
    {
    }

    // Adds a target. `keeps_on_exec` says whether it remains a target when it executes
    // another program.
    void add(pid_t pid, bool keeps_on_exec) { keeps_on_exec_[pid] = keeps_on_exec; }
    bool contains(pid_t pid) const { return keeps_on_exec_.contains(pid); }
    void change(const PerfTaskEvent& event);

private:
    bool follows_forks_, follows_execs_;
    std::map<pid_t, bool> keeps_on_exec_; // by the id of each target
};

} // namespace dt
