// SPDX-License-Identifier: MIT
// The arguments of the programs that processes execute. When the kernel records
// sched_process_exec, they are on the new program's stack, of which the sample contains a
// copy. If a page before the arguments is not in memory, the copy ends before them. The
// reader thread then reads the arguments from /proc at once. If the process has already
// exited, or has executed a program with another name, the arguments are unknown.
#pragma once

#include "libdtrace/session/sampling/perf_sample.hpp"

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <sys/types.h>
#include <utility>

namespace dt {

// Returns the arguments of a new program, separated by blanks. Returns nullopt if they
// are not all in the copy of its stack.
std::optional<std::string> arguments_on_stack(const PerfSample& sample);

class ProgramArguments {
public:
    // Called for each sample at sched_process_exec as soon as it has been read. `path` is
    // that of the program.
    void see(const PerfSample& sample, const std::string& path);
    // Returns the arguments, or "" if they are unknown. Called once for each sample, maybe
    // by another thread.
    std::string take(const PerfSample& sample);

private:
    std::mutex lock_;
    // Arguments that were read from /proc, by process and time of the sample.
    std::map<std::pair<pid_t, std::uint64_t>, std::string> from_proc_;
};

} // namespace dt
