// SPDX-License-Identifier: MIT
// Handles the targets of a session while it traces. Plants sites, and matches the
// descriptions again when a target changes or appears.
//
//   AgentClient ──events──▶ Targets ──▶ rematch descriptions ──▶ Backend: probes, sites
#pragma once

#include "libdtrace/session/backends/backend.hpp"
#include "libdtrace/session/probe_recycler.hpp"
#include "libdtrace/session/session_state.hpp"
#include "libdtrace/session/target_reports.hpp"
#include "libdtrace/session/user_limit.hpp"

#include <cstdint>
#include <memory>
#include <span>

namespace dt {

class Targets {
public:
    // `backend` may contain null until Session::go() has chosen a backend.
    Targets(SessionState& state, const std::unique_ptr<Backend>& backend)
        : s_(state), backend_(backend), users_(state), recycler_(state), reports_(state)
    {
    }

    // Grabs each process in which an enabled description has matched a probe.
    void grab_matched();
    // Plants all unplanted sites of a process. Returns 0, or -1 after
    // SessionState::fail().
    int plant(ps_prochandle& process);
    // Attaches again to the targets that the agents have detached from (-x release=idle),
    // before tracing ends. Reports the targets that another tracer holds.
    void end_release();
    // Waits for an event of an agent, a new process, or data on the descriptor `also`.
    // Waits at most `longest_ns`, which is less than one second. Returns the result of
    // poll(2), or 1 if an event is already pending.
    int wait(std::uint64_t longest_ns, int also);
    // Handles pending events of the agents, for at most 100 ms.
    void handle_events();
    // Grabs new processes in which descriptions match. A process is checked several
    // times, because it loads its libraries one after the other.
    void check_new_processes(std::uint64_t now_ns);
    // Searches for new libraries in processes that the agent does not watch.
    void search_libraries(std::uint64_t now_ns);
    TargetReports& reports() { return reports_; }

private:
    Backend& backend() { return *backend_; }
    bool admits(pid_t pid);
    void forget_sites(pid_t pid);
    bool handle_events_of(std::size_t domain, std::uint64_t until_ns);
    void resume_changed(std::size_t domain, const AgentEvent& event);
    void lose_agent(std::size_t domain, const std::string& why);
    void libraries_changed(ps_prochandle& process,
                           std::span<const ForgottenProbe> forgotten);
    void program_changed(ps_prochandle& process, bool still_traced,
                         const std::string& program);
    // Returns 0, or -1 if a probe cannot be added or enabled.
    int rematch(ps_prochandle& process);
    void grab_new(pid_t pid);

    SessionState& s_;
    const std::unique_ptr<Backend>& backend_;
    UserLimit users_;
    ProbeRecycler recycler_;
    TargetReports reports_;
    std::size_t first_agent_ = 0; // where the last call to handle_events() began
};

} // namespace dt
