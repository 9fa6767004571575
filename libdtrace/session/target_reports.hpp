// SPDX-License-Identifier: MIT
// Messages about the targets of a session: which processes cannot be traced, which
// probes and tables were omitted, and which events in a target the user should know
// about. Each message is passed to SessionState's listener once or a limited number of
// times.
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
    // Reports the new messages of the providers, and calls report_cuts().
    void report_notes(ps_prochandle& process);
    // Reports tables in the targets' files that were too large and therefore truncated.
    void report_cuts();
    // Called for a process with breakpoints after the agent has died. Reports that the
    // process has ended, or that the next breakpoint may kill it because some of its
    // threads block SIGTRAP.
    void report_danger(const ps_prochandle& process);

    // Records the program that a target now executes, if the user named the target. If
    // the target is no longer traced in this program, reports that immediately.
    void note_program(ps_prochandle& process, bool still_traced,
                      const std::string& program);
    // Reports that no probe matches in the program that a process executed. Called
    // after the program has had time to load its libraries, and when it exits.
    void report_unmatched(ps_prochandle& process);
    // Calls report_unmatched() for each process that executed its program at least 2 s
    // before now_ns (monotonic time).
    void report_unmatched(std::uint64_t now_ns);

private:
    SessionState& s_;
    std::size_t n_cuts_reported_ = 0;
    std::set<pid_t> reported_untraced_;
};

} // namespace dt
