// SPDX-License-Identifier: MIT
// The names and parents of the processes in samples. They are those of the time of the
// sample if the kernel has recorded their changes, so that a process may have exited
// since then. The first values come from /proc.
#pragma once

#include "libdtrace/session/sampling/perf_sample.hpp"

#include <map>
#include <optional>
#include <string>

namespace dt {

class SampledTasks {
public:
    void change(const PerfTaskEvent& event);
    // Discards everything. Called when records were lost.
    void forget_all() { processes_.clear(); }

    // Returns "" if the name is unknown.
    const std::string& name_of(pid_t pid);
    // Returns 0 if the parent is unknown.
    pid_t parent_of(pid_t pid);
    // Returns whether `pid` is the ancestor itself, or descends from it.
    bool is_descendant(pid_t pid, pid_t ancestor);

private:
    struct Process {
        std::string name;
        pid_t parent = 0;
    };
    Process& process(pid_t pid);

    std::map<pid_t, Process> processes_;
};

} // namespace dt
