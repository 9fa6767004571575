// SPDX-License-Identifier: MIT
#include "ptrace-agent/hold/client_wait.hpp"

#include "base/clock_ns.hpp"

#include <algorithm>

namespace dt::agent {

constexpr std::uint64_t max_silence_s = 10;
constexpr std::uint64_t max_silence_ns = max_silence_s * 1'000'000'000;

bool ClientWait::begin_request()
{
    AgentSession& session = tracees_.sessions().current();
    session.last_request_ns = monotonic_ns();
    return std::exchange(session.silent, false);
}

void ClientWait::end_request()
{
    tracees_.sessions().current().last_request_ns = monotonic_ns();
}

// Returns whether threads must wait until the session has answered a library change.
bool ClientWait::is_unanswered(unsigned session, const Interest& interest,
                               int change) const
{
    const AgentSession* of = tracees_.sessions().find(session);
    return of != nullptr && !of->silent &&
           interest.answered_change < std::min(interest.awaited_change, change);
}

bool ClientWait::is_awaited(const Process& process) const
{
    return std::any_of(
        process.interests.begin(), process.interests.end(), [&](const auto& each) {
            return is_unanswered(each.first, each.second, process.library_changes);
        });
}

void ClientWait::hold(Thread& thread)
{
    thread.held = true;
    thread.awaits = thread.process->library_changes;
    thread.hold_ends_ns = 0;
    if (!thread.process->started)
        return; // no deadline until the client has started the command
    thread.hold_ends_ns = monotonic_ns() + max_silence_ns;
    alarms_.set_if_unset(Alarms::silent_client, thread.hold_ends_ns);
}

void ClientWait::release(Thread& thread)
{
    thread.held = false;
    thread.awaits = 0;
    if (!thread.is_stopped())
        return;
    if (thread.is_pending())
        tracees_.add_ready(thread.tid);
    else
        tracees_.go_on(thread);
}

void ClientWait::report_held_back()
{
    const unsigned session = tracees_.sessions().current().number;
    for (auto& [pid, process] : tracees_.processes()) {
        auto found = process->interests.find(session);
        if (found != process->interests.end() && found->second.change_held_back &&
            !process->no_events)
            report_libraries_changed(pid);
    }
}

template <class Which> void ClientWait::release_if(Process& process, Which which)
{
    std::vector<pid_t> tids; // collected first, because release() may end threads
    for (auto& [tid, thread] : process.threads)
        if (which(*thread))
            tids.push_back(tid);
    for (pid_t tid : tids)
        if (Thread* thread = tracees_.find_thread(tid))
            release(*thread);
}

void ClientWait::release_answered(Process& process)
{
    release_if(process, [&](const Thread& thread) {
        return thread.awaits != 0 &&
               std::none_of(process.interests.begin(), process.interests.end(),
                            [&](const auto& each) {
                                return is_unanswered(each.first, each.second,
                                                     thread.awaits);
                            });
    });
}

void ClientWait::release_all(Process& process)
{
    release_if(process, [](const Thread&) { return true; });
}

// Returns when the hold of a thread ends although clients have not answered. A client
// may take longer as long as it sends requests.
std::uint64_t ClientWait::hold_ends_ns(const Thread& thread) const
{
    std::uint64_t ends = thread.held ? thread.hold_ends_ns : 0;
    if (ends == 0)
        return 0;
    for (const auto& [session, interest] : thread.process->interests)
        if (is_unanswered(session, interest, thread.awaits))
            ends = std::max(ends, tracees_.sessions().find(session)->last_request_ns +
                                      max_silence_ns);
    return ends;
}

void ClientWait::give_up_waiting(Thread& thread)
{
    SessionSet late;
    for (const auto& [session, interest] : thread.process->interests) {
        if (!is_unanswered(session, interest, thread.awaits))
            continue;
        tracees_.sessions().find(session)->silent = true;
        late.set(session);
    }
    AgentEvent event;
    event.kind = AgentEvent::agent_error;
    event.pid = thread.process->pid;
    event.text = "the target loaded libraries while dtrace did not respond for " +
                 std::to_string(max_silence_s) +
                 " s; it was resumed, and calls into those libraries were not traced";
    tracees_.sessions().send_event(late, event);
    release(thread);
}

void ClientWait::release_overdue()
{
    if (!alarms_.is_due(Alarms::silent_client))
        return;
    std::vector<pid_t> late;
    std::uint64_t next = 0;
    for (auto& [tid, thread] : tracees_.threads()) {
        const std::uint64_t ends = hold_ends_ns(*thread);
        if (ends != 0 && monotonic_ns() >= ends)
            late.push_back(tid);
        else if (ends != 0)
            next = sooner(next, ends);
    }
    alarms_.set(Alarms::silent_client, next);
    for (pid_t tid : late)
        if (Thread* thread = tracees_.find_thread(tid))
            give_up_waiting(*thread);
}

void ClientWait::report_libraries_changed(pid_t pid)
{
    Process* process = tracees_.find_process(pid);
    if (process == nullptr)
        return;
    SessionSet to;
    for (auto& [session, interest] : process->interests) {
        if (interest.has_other_program)
            continue;
        const AgentSession* of = tracees_.sessions().find(session);
        interest.change_held_back = of != nullptr && of->silent &&
                                    interest.answered_change != interest.awaited_change;
        if (!interest.change_held_back)
            to.set(session);
    }
    if (to.none())
        return;
    const int change = ++process->library_changes;
    for (auto& [session, interest] : process->interests) {
        if (!to.test(session))
            continue;
        interest.awaited_change = change;
        AgentEvent event;
        event.kind = AgentEvent::libraries_changed;
        event.pid = pid;
        event.status = change;
        event.forgotten = process->space->known_text.take_forgotten(session);
        tracees_.sessions().send_event(SessionSet().set(session), event);
    }
}

} // namespace dt::agent
