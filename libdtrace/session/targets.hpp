// SPDX-License-Identifier: MIT
// The targets of a session while it traces: sites are planted in them, they load libraries,
// execute programs, fork and end, and new processes become targets.
//
//   AgentClient ──events──▶ Targets ──▶ rematch descriptions ──▶ Backend: probes, sites
//
// Remarks and state changes go to SessionState's listener.
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

    // Makes targets of the processes that descriptions found only by their probes.
    void grab_found();
    // Plants the sites of a process that are not in place yet. Returns 0, or -1 after
    // SessionState::fail().
    int plant(ps_prochandle& process);
    // Handles the agent's events that are there, for at most 100 ms.
    void handle_events();
    // Looks at processes that began since the last call, if descriptions mean all processes.
    void look_at_new_processes(std::uint64_t now_ns);
    // Reports programs that were executed and in which no probe matches, if they had time to
    // load their libraries.
    void report_unmatched(std::uint64_t now_ns);
    // Reports what is not read of files of targets because tables are too large.
    void report_cuts();

private:
    Backend& backend() { return *backend_; }
    bool admits(pid_t pid);
    void report_untraced(pid_t pid, const Error& why);
    void report_notes(ps_prochandle& process); // of providers, since the last time
    void report_threads_in_danger(const ps_prochandle& process);
    void report_unmatched(ps_prochandle& process);
    void forget_sites(pid_t pid);
    void resume_changed(const AgentEvent& event);
    void libraries_changed(pid_t pid, std::span<const ForgottenProbe> forgotten);
    void program_changed(ps_prochandle& process, bool goes_on);
    void note_program(ps_prochandle& process, bool goes_on);
    int rematch(ps_prochandle& process);
    void take_up(pid_t pid);

    SessionState& s_;
    const std::unique_ptr<Backend>& backend_;
    UserLimit users_;
    ProbeRecycler recycler_;
    std::size_t n_cuts_reported_ = 0;
    std::set<pid_t> told_untraced_; // processes that report_untraced() has reported
};

} // namespace dt
