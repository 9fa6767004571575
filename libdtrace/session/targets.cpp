// SPDX-License-Identifier: MIT
#include "libdtrace/session/targets.hpp"

#include "base/clock_ns.hpp"
#include "libdtrace/providers/process_patches.hpp"
#include "libdtrace/session/debug.hpp"
#include "libdtrace/session/sites.hpp"

#include <poll.h>
#include <utility>
#include <vector>

namespace dt {

static constexpr std::uint64_t max_handling_ns = 100'000'000;

int Targets::plant(ps_prochandle& process)
{
    StaticTable statics;
    std::vector<Site> sites = missing_sites(s_, process, statics);
    // The agent must watch the process if descriptions may match libraries that the
    // process loads later.
    if (sites.empty() && (process.watched || !s_.awaits_libraries(process)))
        return 0;
    if (!std::exchange(process.watched, true)) {
        backend().choose_mechanism(process);
        if (s_.options.release == ReleaseOption::idle)
            if (auto asked = s_.processes.agent_of(process)->release_idle(true);
                !asked && asked.error().code != Code::gone)
                return s_.fail(asked.error());
    }
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
        auto followed = s_.processes.agent_of(process)->follow(process.pid, what, exec);
        if (!followed && followed.error().code != Code::gone)
            return s_.fail(followed.error());
    }
    if (backend().plant(process, sites, statics) != 0)
        return -1;
    reports_.report_notes(process);
    return 0;
}

void Targets::end_release()
{
    if (s_.options.release != ReleaseOption::idle)
        return;
    for (AgentClient* agent : s_.processes.agents().all()) {
        if (agent->is_gone())
            continue;
        if (auto attached = agent->release_idle(false); !attached)
            s_.complain(
                attached.error().text +
                "; its jumps stay in its text and fire no probes; to remove "
                "them, end that tracing and trace the process with dtrace again");
    }
}

bool Targets::admits(pid_t pid)
{
    return users_.admits(pid, backend().shared_between_targets());
}

// Attaches to each process with matched probes. A process that cannot be traced is
// reported, but is not an error.
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
    s_.providers.plockstat.forget(pid);
    s_.providers.syscall_sites.forget(pid);
    s_.probes.forget(pid);
}

void Targets::resume_changed(std::size_t domain, const AgentEvent& event)
{
    AgentClient* agent = s_.processes.agents().at(domain);
    if (agent == nullptr)
        return;
    auto resumed = agent->resume_after_library_change(event.pid, event.status);
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

int Targets::wait(std::uint64_t longest_ns, int also)
{
    std::vector<pollfd> fds{{also, POLLIN, 0}, {s_.new_processes.fd(), POLLIN, 0}};
    for (const AgentClient* agent : s_.processes.agents().all()) {
        if (agent->has_event())
            return 1;
        fds.push_back({agent->fd(), POLLIN, 0});
    }
    const timespec timeout{0, static_cast<long>(longest_ns)};
    return ::ppoll(fds.data(), fds.size(), &timeout, nullptr);
}

// Handles pending events of the agents. Stops after max_handling_ns, because targets
// can cause events faster than they are handled. Each call begins with another agent,
// so that no agent is delayed forever.
void Targets::handle_events()
{
    const std::size_t n_agents = s_.processes.agents().size();
    if (n_agents == 0)
        return;
    s_.processes.remove_ended();
    if (s_.active)
        recycler_.recycle();
    const std::uint64_t now = monotonic_ns(), until = now + max_handling_ns;
    for (ps_prochandle* process : s_.processes.hidden_exits(now)) {
        process->leave(HoldState::exited);
        forget_sites(process->pid);
        s_.listener.process(process, nullptr);
    }
    first_agent_ = (first_agent_ + 1) % n_agents;
    for (std::size_t i = 0; i < n_agents; i++)
        if (!handle_events_of((first_agent_ + i) % n_agents, until))
            return;
}

// Returns whether an agent can send the event only about a process that it traces. If
// this is an agent of another user, files and memory of another process would otherwise
// be read.
static bool needs_tracer(const AgentEvent& event)
{
    return event.kind == AgentEvent::libraries_changed ||
           (event.status != 0 &&
            (event.kind == AgentEvent::execed || event.kind == AgentEvent::forked));
}

// Handles pending events of one domain's agent. Returns false if the time limit is
// reached.
bool Targets::handle_events_of(std::size_t domain, std::uint64_t until_ns)
{
    AgentClient* agent = s_.processes.agents().at(domain);
    if (agent == nullptr)
        return true;
    while (monotonic_ns() < until_ns) {
        auto next = agent->next_event();
        if (!next) {
            s_.complain(next.error().text);
            return true;
        }
        if (!*next)
            return true;
        const AgentEvent& event = **next;
        ps_prochandle* process = s_.processes.find(domain, event.pid);
        if (process != nullptr && needs_tracer(event) &&
            !s_.processes.is_traced(*process))
            continue;
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
                resume_changed(domain, event);
            break;
        case AgentEvent::libraries_changed: {
            if (s_.active && !s_.stopped && process != nullptr) {
                libraries_changed(*process, event.forgotten);
                if (plant(*process) != 0)
                    s_.complain(s_.error_text);
            } else if (process != nullptr && process->symbols != nullptr) {
                (void)process->symbols->refresh();
            }
            resume_changed(domain, event);
            break;
        }
        case AgentEvent::forked:
            if (event.status == 0 ||
                !s_.processes.follow(domain, event.pid, event.child))
                break;
            s_.probes.inherit(event.pid, event.child);
            if (ps_prochandle* child = s_.processes.find(domain, event.child);
                child != nullptr && process != nullptr)
                child->program_probes = process->program_probes;
            break;
        case AgentEvent::given_up:
            if (process == nullptr || !process->is_held())
                break;
            s_.report(process, event.text);
            process->leave(HoldState::lost);
            forget_sites(event.pid);
            s_.listener.process(process, nullptr);
            break;
        case AgentEvent::agent_error:
            s_.report(process, event.text);
            break;
        case AgentEvent::agent_gone:
            lose_agent(domain, event.text);
            return true;
        }
    }
    return false;
}

// Called after an agent has died. Marks the processes of the agent's domain as lost.
void Targets::lose_agent(std::size_t domain, const std::string& why)
{
    std::vector<ps_prochandle*> lost;
    bool holds_others = false;
    for (const auto& process : s_.processes.all()) {
        if (process->domain == domain && process->leave(HoldState::lost))
            lost.push_back(process.get());
        else
            holds_others |= process->is_held();
    }
    if (!holds_others)
        s_.complain("dtrace no longer traces any process: " + why);
    for (ps_prochandle* process : lost) {
        if (holds_others)
            s_.complain("process " + std::to_string(process->pid) +
                        " is no longer traced: " + why);
        if (process->has_breakpoints)
            reports_.report_danger(*process);
        // The agent of another user may have let the process exit, and hidden this.
        if (AgentClient* agent = s_.processes.agents().at(domain);
            agent == nullptr || !agent->is_foreign())
            lower_semaphores(process->pid);
        forget_sites(process->pid);
        s_.listener.process(process, nullptr);
    }
}

} // namespace dt
