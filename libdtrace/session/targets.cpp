// SPDX-License-Identifier: MIT
#include "libdtrace/session/targets.hpp"

#include "base/clock_ns.hpp"
#include "libdtrace/providers/process_patches.hpp"
#include "libdtrace/session/debug.hpp"
#include "libdtrace/session/sites.hpp"

#include <utility>

namespace dt {

static constexpr std::uint64_t max_handling_ns = 100'000'000;

int Targets::plant(ps_prochandle& process)
{
    StaticTable statics;
    std::vector<Site> sites = missing_sites(s_, process, statics);
    // If descriptions may match probes in libraries that are loaded later, the agent
    // must watch the process, even if no probe matches yet.
    if (sites.empty() && (process.watched || !s_.awaits_libraries(process)))
        return 0;
    if (!std::exchange(process.watched, true))
        backend().choose_mechanism(process);
    const bool children = s_.options.follow == FollowOption::fork ||
                          s_.options.follow == FollowOption::exec;
    const Follow what = children              ? Follow::all
                        : s_.awaits_statics() ? Follow::statics
                                              : Follow::none;
    const FollowExec exec =
        s_.options.follow == FollowOption::exec ? FollowExec::all
        : process.kind == TargetKind::created && s_.options.follow != FollowOption::none
            ? FollowExec::itself
            : FollowExec::none;
    if (what != Follow::none || exec != FollowExec::none) {
        auto followed = s_.processes.agent()->follow(process.pid, what, exec);
        if (!followed && followed.error().code != Code::gone)
            return s_.fail(followed.error());
    }
    if (backend().plant(process, sites, statics) != 0)
        return -1;
    reports_.report_notes(process);
    return 0;
}

bool Targets::admits(pid_t pid)
{
    return !backend().targets_share_memory() || users_.admits(pid);
}

// Attaches to each process in which a probe description has matched. Reports a process
// that cannot be traced, and continues with the remaining ones.
void Targets::grab_matched()
{
    for (pid_t pid : s_.found_by_probes()) {
        if (s_.processes.find(pid) != nullptr || !admits(pid))
            continue;
        auto grabbed = s_.processes.grab(pid, TargetKind::matched);
        if (!grabbed)
            reports_.report_untraced(pid, grabbed.error());
    }
    users_.report_left_out();
}

void Targets::forget_sites(pid_t pid)
{
    if (ps_prochandle* process = s_.processes.find(pid))
        recycler_.end_program(*process);
    s_.providers.pid.forget(pid);
    s_.probes.forget(pid);
}

void Targets::resume_changed(const AgentEvent& event)
{
    auto resumed =
        s_.processes.agent()->resume_after_library_change(event.pid, event.status);
    if (!resumed && resumed.error().code != Code::gone)
        s_.complain(resumed.error().text);
}

static const char* event_text(AgentEvent::Kind kind)
{
    switch (kind) {
    case AgentEvent::exited:
        return "ended";
    case AgentEvent::execed:
        return "runs another program";
    case AgentEvent::libraries_changed:
        return "its libraries changed";
    case AgentEvent::forked:
        return "forked";
    case AgentEvent::given_up:
        return "is no longer traced";
    case AgentEvent::agent_error:
        return "the agent reports an error";
    case AgentEvent::agent_gone:
        return "the agent has exited";
    }
    return "";
}

// Handles the pending events of the agent. Stops after max_handling_ns, because a
// program that keeps loading libraries may cause events faster than they can be
// handled. The remaining events are handled after records have been drained.
void Targets::handle_events()
{
    AgentClient* agent = s_.processes.agent();
    if (agent == nullptr)
        return;
    s_.processes.remove_ended();
    if (s_.active)
        recycler_.recycle();
    for (std::uint64_t began = monotonic_ns();
         monotonic_ns() - began < max_handling_ns;) {
        auto next = agent->next_event();
        if (!next) {
            s_.complain(next.error().text);
            return;
        }
        if (!*next)
            return;
        const AgentEvent& event = **next;
        ps_prochandle* process = s_.processes.find(event.pid);
        debug("process %d: %s", event.pid, event_text(event.kind));
        switch (event.kind) {
        case AgentEvent::exited:
            if (process == nullptr || !process->leave(HoldState::exited, event.status))
                break;
            reports_.report_unmatched(*process);
            forget_sites(event.pid);
            s_.listener.process(process, nullptr);
            break;
        case AgentEvent::execed:
            if (process != nullptr)
                program_changed(*process, event.status != 0, event.text);
            if (event.status != 0)
                resume_changed(event);
            break;
        case AgentEvent::libraries_changed: {
            if (s_.active && !s_.stopped) {
                libraries_changed(event.pid, event.forgotten);
                if (process != nullptr && plant(*process) != 0)
                    s_.complain(s_.error_text);
            } else if (process != nullptr && process->symbols != nullptr) {
                (void)process->symbols->refresh();
            }
            resume_changed(event);
            break;
        }
        case AgentEvent::forked:
            if (event.status == 0)
                break;
            s_.processes.follow(event.pid, event.child);
            s_.probes.inherit(event.pid, event.child);
            if (ps_prochandle* child = s_.processes.find(event.child);
                child != nullptr && process != nullptr)
                child->program_probes = process->program_probes;
            break;
        case AgentEvent::given_up:
            s_.report(process, event.text);
            if (process == nullptr || !process->leave(HoldState::lost))
                break;
            forget_sites(event.pid);
            s_.listener.process(process, nullptr);
            break;
        case AgentEvent::agent_error:
            s_.report(process, event.text);
            break;
        case AgentEvent::agent_gone:
            s_.complain("dtrace no longer traces any process: " + event.text);
            // The processes may still run, but this session has lost all of them.
            for (const auto& other : s_.processes.all()) {
                if (!other->leave(HoldState::lost))
                    continue;
                if (other->has_breakpoints)
                    reports_.report_danger(*other);
                lower_semaphores(other->pid);
                forget_sites(other->pid);
                s_.listener.process(other.get(), nullptr);
            }
            return;
        }
    }
}

} // namespace dt
