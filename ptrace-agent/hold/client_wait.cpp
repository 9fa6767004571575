// SPDX-License-Identifier: MIT
#include "ptrace-agent/hold/client_wait.hpp"

#include "base/clock_ns.hpp"

#include <algorithm>

namespace dt::agent {

constexpr std::uint64_t max_silence_s = 10;
constexpr std::uint64_t max_silence_ns = max_silence_s * 1'000'000'000;

bool ClientWait::begin_request()
{
    last_request_ns_ = monotonic_ns();
    return std::exchange(silent_, false);
}

void ClientWait::end_request()
{
    last_request_ns_ = monotonic_ns();
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
    for (auto& [pid, process] : tracees_.processes()) {
        if (process->change_held_back && process->is_target && !process->no_events)
            report_libraries_changed(pid);
    }
}

void ClientWait::release_of(Process& process, std::optional<int> change)
{
    std::vector<pid_t> tids; // collected first, because release() may end threads
    for (auto& [tid, thread] : process.threads) {
        if (!change || (thread->awaits != 0 && thread->awaits <= *change))
            tids.push_back(tid);
    }
    for (pid_t tid : tids) {
        if (Thread* thread = tracees_.find_thread(tid))
            release(*thread);
    }
}

void ClientWait::release_overdue()
{
    if (!alarms_.is_due(Alarms::silent_client))
        return;
    std::vector<pid_t> late;
    std::uint64_t next = 0;
    for (auto& [tid, thread] : tracees_.threads()) {
        std::uint64_t ends = thread->held ? thread->hold_ends_ns : 0;
        if (ends != 0)
            ends = std::max(ends, last_request_ns_ + max_silence_ns);
        if (ends != 0 && monotonic_ns() >= ends)
            late.push_back(tid);
        else if (ends != 0)
            next = sooner(next, ends);
    }
    alarms_.set(Alarms::silent_client, next);
    for (pid_t tid : late) {
        Thread* thread = tracees_.find_thread(tid);
        if (thread == nullptr)
            continue;
        silent_ = true;
        client_.report_error(
            thread->process->pid,
            "the target loaded libraries while dtrace did not respond for " +
                std::to_string(max_silence_s) +
                " s; it was resumed, and calls into those libraries were not traced");
        release(*thread);
    }
}

void ClientWait::report_libraries_changed(pid_t pid)
{
    Process* found = tracees_.find_process(pid);
    if (found == nullptr)
        return;
    Process& process = *found;
    process.change_held_back =
        silent_ && process.answered_change != process.library_changes;
    if (process.change_held_back)
        return;
    AgentEvent event;
    event.kind = AgentEvent::libraries_changed;
    event.pid = pid;
    event.status = ++process.library_changes;
    event.forgotten = process.space->known_text.take_forgotten();
    client_.send_event(std::move(event));
}

} // namespace dt::agent
