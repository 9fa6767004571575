// SPDX-License-Identifier: MIT
// A thread that waits for the client, and a client that does not answer.
//
// A thread that loads a library waits until the client has planted what is new. The client
// may be stopped itself, or write into a pipe that nobody reads: then the thread goes on
// after a while, without probes in the library, and from then on nobody waits until the
// client has asked for something. Meanwhile it is told of one change and of no others: it
// will look at all libraries then.
#include "ptrace-agent/agent.hpp"

#include "base/clock_ns.hpp"

#include <algorithm>

namespace dt::agent {

constexpr std::uint64_t patience_s = 10;
constexpr std::uint64_t patience_ns = patience_s * 1'000'000'000;

void Agent::hold_for_client(Thread& thread)
{
    thread.held = true;
    thread.awaits = thread.process->library_changes;
    thread.patience_ends = 0;
    if (!thread.process->started)
        return; // a command that the client has not started yet
    thread.patience_ends = monotonic_ns() + patience_ns;
    alarms_.set_if_unset(Alarms::silent_client, thread.patience_ends);
}

void Agent::release_held(Thread& thread)
{
    thread.held = false;
    thread.awaits = 0;
    if (!thread.is_stopped())
        return;
    if (thread.is_pending())
        tracees_.add_ready(thread.tid);
    else
        go_on(thread);
}

// What came while the client was silent.
void Agent::tell_untold()
{
    for (auto& [pid, process] : tracees_.processes()) {
        if (process->untold_change && process->is_target && !process->doomed)
            tell_libraries_changed(pid);
    }
}

// Those that wait for the answer to this change or one before it; none: for whatever.
void Agent::release_held_of(Process& process, std::optional<int> change)
{
    std::vector<pid_t> tids; // going on may end others
    for (auto& [tid, thread] : process.threads) {
        if (!change || (thread->awaits != 0 && thread->awaits <= *change))
            tids.push_back(tid);
    }
    for (pid_t tid : tids) {
        if (Thread* thread = tracees_.find_thread(tid))
            release_held(*thread);
    }
}

void Agent::end_patience()
{
    if (!alarms_.is_due(Alarms::silent_client))
        return;
    std::vector<pid_t> late;
    std::uint64_t next = 0;
    for (auto& [tid, thread] : tracees_.threads()) {
        std::uint64_t ends = thread->held ? thread->patience_ends : 0;
        if (ends != 0)
            ends = std::max(ends, heard_ns_ + patience_ns);
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
        silent_client_ = true;
        client_.report_error(
            thread->process->pid,
            "libraries came while nothing was heard of dtrace for " +
                std::to_string(patience_s) +
                " s; it went on, and what it called there was not seen");
        release_held(*thread);
    }
}

} // namespace dt::agent
