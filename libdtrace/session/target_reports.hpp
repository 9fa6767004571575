// SPDX-License-Identifier: MIT
// Messages about the targets of a session. The number of repetitions is limited.
#pragma once

#include "base/result.hpp"
#include "libdtrace/session/session_state.hpp"

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <sys/types.h>

namespace dt {

class TargetReports {
public:
    explicit TargetReports(SessionState& state) : s_(state) {}

    // Reports once that a process cannot be traced, unless it has exited.
    void report_untraced(pid_t pid, const Error& why);
    // Reports new messages of the providers and of report_cuts().
    void report_notes(ps_prochandle& process);
    // Reports which tables in the targets' files were truncated.
    void report_cuts();
    // Called after the agent has died, for a process with breakpoints. Reports that the
    // process has ended, or that the next breakpoint may kill it.
    void report_danger(const ps_prochandle& process);

    // Records the program that a target now executes, if the user named the target.
    // Reports if this program is not traced.
    void note_program(ps_prochandle& process, bool still_traced,
                      const std::string& program);
    // Reports that no probe matches in a process's program. Called after the program
    // has loaded its libraries, and at its exit.
    void report_unmatched(ps_prochandle& process);
    // Calls report_unmatched() for programs that began at least 2 s before now_ns
    // (monotonic time).
    void report_unmatched(std::uint64_t now_ns);

private:
    SessionState& s_;
    std::size_t n_cuts_reported_ = 0;
    std::set<pid_t> reported_untraced_;
};

} // namespace dt
