// SPDX-License-Identifier: MIT
// Handles the targets of a session while it traces. Plants sites in them, and matches
// the descriptions again when a target loads a library or executes a program, and when
// a new process becomes a target.
//
//   AgentClient ──events──▶ Targets ──▶ rematch descriptions ──▶ Backend: probes, sites
//
// Remarks and state changes are reported to SessionState's listener.
#pragma once

#include "libdtrace/session/backends/backend.hpp"
#include "libdtrace/session/probe_recycler.hpp"
#include "libdtrace/session/session_state.hpp"
#include "libdtrace/session/user_limit.hpp"

#include <cstdint>
#include <memory>
#include <set>
#include <span>

namespace dt {

class Targets {
public:
    // The backend may be null until the session is about to trace.
    Targets(SessionState& state, const std::unique_ptr<Backend>& backend)
        : s_(state), backend_(backend), users_(state), recycler_(state)
    {
    }

    // Grabs the processes in which enabled descriptions have matched probes and that
    // are not targets yet.
    void grab_matched();
    // Plants the sites of a process that have not been planted yet. Returns 0, or -1
    // after SessionState::fail().
    int plant(ps_prochandle& process);
    // Handles the pending events of the agent, for at most 100 ms.
    void handle_events();
    // Checks processes that have started since the last call, if descriptions apply to
    // all processes.
    void check_new_processes(std::uint64_t now_ns);
    // Reports executed programs in which no probe matches, once the programs have had
    // time to load their libraries.
    void report_unmatched(std::uint64_t now_ns);
    // Reports tables in the targets' files that were too large and therefore truncated.
    void report_cuts();

private:
    Backend& backend() { return *backend_; }
    bool admits(pid_t pid);
    void report_untraced(pid_t pid, const Error& why);
    void report_notes(ps_prochandle& process); // new messages of the providers
    // Reports what the death of the agent means for a process with breakpoints.
    void report_danger(const ps_prochandle& process);
    void report_unmatched(ps_prochandle& process);
    void forget_sites(pid_t pid);
    void resume_changed(const AgentEvent& event);
    void libraries_changed(pid_t pid, std::span<const ForgottenProbe> forgotten);
    void program_changed(ps_prochandle& process, bool still_traced,
                         const std::string& program);
    void note_program(ps_prochandle& process, bool still_traced,
                      const std::string& program);
    // Matches the descriptions against the current modules of a process.
    int rematch(ps_prochandle& process);
    void grab_new(pid_t pid);

    SessionState& s_;
    const std::unique_ptr<Backend>& backend_;
    UserLimit users_;
    ProbeRecycler recycler_;
    std::size_t n_cuts_reported_ = 0;
    std::set<pid_t> reported_untraced_; // processes that report_untraced() has reported
};

} // namespace dt
