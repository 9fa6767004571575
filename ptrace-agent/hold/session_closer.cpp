// SPDX-License-Identifier: MIT
#include "ptrace-agent/hold/session_closer.hpp"

#include "base/clock_ns.hpp"
#include "ptrace-agent/hold/tracing.hpp"
#include "ptrace-agent/inject/our_code.hpp"

#include <algorithm>
#include <csignal>
#include <set>

namespace dt::agent {

// The pause before memory that a thread still used is examined again. Each examination
// stops the target, so the pause doubles each time.
constexpr std::uint64_t min_pause_ns = 100'000'000;
constexpr std::uint64_t max_pause_ns = 30'000'000'000;

Reply SessionCloser::detach(Reader& in)
{
    auto pid = in.get<pid_t>();
    auto process = tracees_.find_target(pid, "detach from");
    if (!process)
        return process.error();
    if ((*process)->creator == tracees_.sessions().current().number)
        (*process)->started = true;
    leave(tracees_.sessions().current().number, (*process)->space, pid);
    table_.reclaim();
    return Body{};
}

void SessionCloser::end_session(unsigned session)
{
    std::vector<std::pair<pid_t, std::shared_ptr<AddressSpace>>> all;
    for (auto& [pid, process] : tracees_.processes()) {
        if (process->interests.count(session) == 0)
            continue;
        if (process->created && !process->started && process->creator == session) {
            // No client is left to start the command.
            process->interests.erase(session);
            process->no_events = !process->is_target();
            ::kill(pid, SIGKILL);
        } else {
            all.emplace_back(pid, process->space);
        }
    }
    for (const auto& [pid, space] : all) {
        const Process* process = tracees_.find_process(pid);
        if (process != nullptr && process->space == space &&
            process->interests.count(session) != 0)
            leave(session, space, pid);
    }
    table_.reclaim();
}

void SessionCloser::leave(unsigned session, std::shared_ptr<AddressSpace> space,
                          pid_t pid)
{
    bool any_left = false;
    for (auto& [other, process] : tracees_.processes()) {
        if (process->space != space)
            continue;
        if (process->interests.erase(session) != 0 && other != pid) {
            AgentEvent event;
            event.kind = AgentEvent::agent_error;
            event.pid = other;
            event.text = shares_memory;
            tracees_.sessions().send_event(SessionSet().set(session), event);
        }
        any_left = any_left || process->is_target();
    }
    if (any_left && tracees_.attend(space))
        remove_probes_of(session, space);
    else
        releaser_.release(space);
}

void SessionCloser::remove_idle(StoppedWorld& world, std::vector<Tracepoint*> changed)
{
    AddressSpace& space = world.space();
    std::sort(changed.begin(), changed.end());
    changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
    std::vector<Tracepoint*> idle;
    for (Tracepoint* tp : changed) {
        if (!tp->serves())
            idle.push_back(tp);
        else if (tp->site)
            jumps_.update(space, *tp);
    }
    for (Thread* thread : tracees_.threads_in(space))
        hits_.undo(*thread, false);
    std::vector<Tracepoint*> breakpoints;
    std::copy_if(idle.begin(), idle.end(), std::back_inserter(breakpoints),
                 [](Tracepoint* tp) { return !tp->site; });
    // Bytes that are no longer our breakpoint are left unchanged.
    space.tracepoints.restore_originals(breakpoints);
    jumps_.remove(space, idle);
    for (Tracepoint* tp : idle)
        space.tracepoints.forget(*tp);
    space.statics.settle(space);
}

void SessionCloser::remove_probes_of(unsigned session,
                                     const std::shared_ptr<AddressSpace>& space)
{
    StoppedWorld world(tracees_, space);
    std::vector<Tracepoint*> changed;
    for (Tracepoint* tp : space->tracepoints.all())
        if (std::erase_if(tp->firings, [session](const Firing& firing) {
                return firing.session == session;
            }) != 0)
            changed.push_back(tp);
    remove_idle(world, std::move(changed));
    (void)space->known_text.take_forgotten(session);
    if (space->runtime.has_session(session))
        space->runtime.set_left(session, true);
    pause_ns_ = min_pause_ns;
    if (!unmap_left(world))
        alarms_.set_if_unset(Alarms::left_sessions, monotonic_ns() + pause_ns_);
}

void SessionCloser::leave_arena(unsigned session)
{
    // The address spaces are collected first, because processes may end meanwhile.
    std::set<std::shared_ptr<AddressSpace>> spaces;
    for (auto& [pid, process] : tracees_.processes())
        if (process->space->runtime.has_session(session))
            spaces.insert(process->space);
    for (const auto& space : spaces) {
        if (!tracees_.attend(space)) {
            releaser_.release(space);
            continue;
        }
        if (space->runtime.sessions().size() > 1) {
            remove_probes_of(session, space);
            continue;
        }
        StoppedWorld world(tracees_, space);
        releaser_.remove_runtime(world);
        Releaser::forget_jumps(*space);
    }
}

// Keeps the memory of the runtime's last session, because a jump that the agent itself
// needs may use it.
bool SessionCloser::unmap_left(StoppedWorld& world)
{
    AddressSpace& space = world.space();
    std::vector<unsigned> left;
    bool any_stays = false;
    for (const auto& [session, memory] : space.runtime.sessions()) {
        if (memory.left)
            left.push_back(session);
        any_stays = any_stays || !memory.left;
    }
    if (left.empty() || !any_stays)
        return true;
    bool all_done = true;
    for (unsigned session : left) {
        const auto threads = tracees_.threads_in(space);
        const bool in_use =
            std::any_of(threads.begin(), threads.end(), [&](auto* each) {
                user_regs_struct user;
                return !each->is_stopped() || !get_regs(each->tid, user) ||
                       may_use_session(space, user, session);
            });
        Thread* caller = in_use ? nullptr : world.any_thread();
        if (caller == nullptr) {
            all_done = false;
            continue;
        }
        const RuntimeMap::SessionMemory memory = space.runtime.sessions().at(session);
        jumps_.drop_session(space, session);
        space.runtime.remove_session(session);
        injector_.unmap_ours(*caller, memory.at, memory.bytes);
    }
    return all_done;
}

void SessionCloser::unmap_left_if_due()
{
    if (!alarms_.is_due(Alarms::left_sessions))
        return;
    alarms_.set(Alarms::left_sessions, 0);
    pause_ns_ = std::min(2 * pause_ns_, max_pause_ns);
    std::set<std::shared_ptr<AddressSpace>> spaces;
    for (auto& [pid, process] : tracees_.processes())
        for (const auto& [session, memory] : process->space->runtime.sessions())
            if (memory.left && process->space->presence == Presence::attached)
                spaces.insert(process->space);
            else if (memory.left)
                alarms_.set_if_unset(Alarms::left_sessions, monotonic_ns() + pause_ns_);
    for (const auto& space : spaces) {
        StoppedWorld world(tracees_, space);
        if (!unmap_left(world))
            alarms_.set_if_unset(Alarms::left_sessions, monotonic_ns() + pause_ns_);
    }
}

} // namespace dt::agent
