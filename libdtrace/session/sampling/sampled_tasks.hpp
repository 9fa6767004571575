// SPDX-License-Identifier: MIT
// The names, parents, ids and arguments of the processes in samples. Names and parents are those of the time of the
// sample if the kernel has recorded their changes, so that a process may have exited
// since then. The first values come from /proc. A process that has exited is known for
// some time, because it still sends a signal to its parent and leaves its CPU.
#pragma once

#include "libdtrace/session/sampling/perf_sample.hpp"

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <sys/types.h>
#include <unordered_map>
#include <unordered_set>

namespace dt {

class TaskVars;

class SampledTasks {
public:
    // Reads the names, parents and ids of all processes. Without this, they are read when a
    // process is first needed. By then, it may have changed its name.
    void read_all();
    void change(const PerfTaskEvent& event);
    // Remembers the arguments of the program that a process executes.
    void set_arguments(pid_t pid, std::string arguments);
    // Discards everything. Called when records were lost.
    void forget_all();

    // Returns "" if the name is unknown.
    const std::string& name_of(pid_t pid);
    // Returns "" unless set_arguments() was called for the process's program.
    const std::string& arguments_of(pid_t pid) { return process(pid).arguments; }
    // Returns 0 if the parent is unknown.
    pid_t parent_of(pid_t pid);
    // Returns the last known effective ids of a process, or those of its parent at the time
    // of the fork. Returns -1 if they are unknown.
    uid_t uid_of(pid_t pid) { return process(pid).uid; }
    gid_t gid_of(pid_t pid) { return process(pid).gid; }
    // Reads the ids again. Called when a process executes a program.
    void read_ids(pid_t pid);
    // Returns the process of a thread, or 0 if it is unknown.
    pid_t process_of(pid_t tid);
    // Returns whether `pid` is the ancestor itself, or descends from it.
    bool is_descendant(pid_t pid, pid_t ancestor);

private:
    struct Process {
        std::string name;
        pid_t parent = 0;
        std::string arguments;
        uid_t uid = static_cast<uid_t>(-1);
        gid_t gid = static_cast<gid_t>(-1);
    };
    Process& process(pid_t pid);
    static void set_ids(TaskVars& vars, Process& process);

    std::map<pid_t, Process> processes_;
    std::unordered_map<pid_t, pid_t> threads_; // the process of each known thread
    // Threads that have exited and are still known. An id is in exited_ more than once if
    // it was used again.
    std::deque<pid_t> exited_;
    std::unordered_set<pid_t> has_exited_;
};

} // namespace dt
