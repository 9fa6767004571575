// SPDX-License-Identifier: MIT
// The handle of one target, which the C API passes to its callers.
//
//          leave()
//   held ───────────▶ exited     the process has exited, with a wait status
//        ───────────▶ lost       the agent gave it up or died; the process may still run
//        ───────────▶ released   the session detached from it
//
// A handle leaves `held` only once. Later reports are ignored.
#pragma once

#include "base/fd.hpp"
#include "libdtrace/symbols/process_symbols.hpp"

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <sys/types.h>
#include <tuple>
#include <vector>

namespace dt {

// The reason why a process is a target.
enum class TargetKind {
    created, // dtrace_proc_create() created it
    named,   // dtrace_proc_grab() attached to it
    matched, // a description matched probes in it
    // it started, or executed another program, while the session was tracing
    started_later,
    followed, // a child of another target
};

enum class HoldState { held, exited, lost, released };

// The probes of one program. A process shares them with forked children that have not
// executed another program.
struct ProgramProbes {
    pid_t pid = 0;
    std::string kin; // argument of Registry::begin_kin()
    // Empty until the process exits or executes another program.
    std::vector<std::uint32_t> ids;
};

} // namespace dt

struct ps_prochandle {
    ps_prochandle(pid_t target, dt::TargetKind why) : pid(target), kind(why) {}

    bool is_held() const { return state_ == dt::HoldState::held; }
    // Changes the state from `held` to another one. Returns false if the process was
    // not held. wait_status is the status from waitpid(2) if `to` is `exited`.
    bool leave(dt::HoldState to, int wait_status = 0);
    // Returns the wait status of an exited process, -1 for a lost process, and
    // otherwise 0.
    int status() const { return status_; }

    // Returns whether the user named this process.
    bool by_user() const
    {
        return kind == dt::TargetKind::created || kind == dt::TargetKind::named;
    }
    bool is_followed() const { return kind == dt::TargetKind::followed; }

    const pid_t pid;
    dt::TargetKind kind;
    std::size_t domain = 0; // the number of its agent: an index for SessionAgents::at()
    // Only if the agent belongs to another user: a descriptor of the process, and the
    // monotonic time at which its exit was found, or 0.
    dt::Fd pidfd;
    std::uint64_t exit_found_ns = 0;
    // For a followed child: its parent, and its nearest ancestor that is not followed.
    pid_t parent = 0, origin = 0;

    bool execed = false;  // it has executed another program while it was traced
    bool watched = false; // the agent reports changes of its libraries
    // Used if the agent does not watch the process. search_ns is the monotonic time of
    // the next search for libraries, or 0. pause_ns is the pause after that search.
    std::uint64_t search_ns = 0, pause_ns = 0;
    bool breakpoints_only = false; // set by ProcessBackend::choose_mechanism()
    bool has_task_probes = false;  // the agent fires probes for its tasks
    bool has_breakpoints = false;  // some of its probes fire through breakpoints
    std::string unmatched;         // the executed program, if no probe matches in it
    std::uint64_t executed_ns = 0; // monotonic time at which it executed `unmatched`
    std::unique_ptr<dt::ProcessSymbols> symbols; // may be null for a followed child
    // The probes that SiteReports has already reported.
    std::set<std::uint32_t> reported_probes, reported_loops;
    // Null if the program's probes are never used again after its exit
    // (probe_recycler.hpp).
    std::shared_ptr<dt::ProgramProbes> program_probes;
    std::vector<std::uint32_t> unplanted; // probes that may still have unplanted sites
    // Uprobes that were requested for its program: probe, file, offset.
    std::set<std::tuple<std::uint32_t, dt::FileId, std::uint64_t>> uprobes;

private:
    dt::HoldState state_ = dt::HoldState::held;
    int status_ = 0;
};
