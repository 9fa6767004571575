// SPDX-License-Identifier: MIT
// Fires probes for the events of tasks (enum TaskEvent). A task is a thread, or a new
// process. The agent stops a task at each of these events, so no code in the target is
// needed:
//
//   create, lwp-create     the parent's stop for its new task
//   start, lwp-start       the first stop of the new task
//   exec-success           the first stop in the new program
//   exit, lwp-exit         PTRACE_EVENT_EXIT. The agent requests this stop only if one
//                          of these probes is enabled.
//   fault, signal-discard  the stop before a signal is delivered
//   signal-handle          the same stop if the signal has its default action. If the
//                          program has a handler, a stop at its first instruction.
//
// exit fires in the thread that calls exit_group(2) or receives the fatal signal.
// Otherwise it fires in the last thread. A vfork child that is not a target itself fires
// the probes of its parent.
#pragma once

#include "ptrace-agent/hold/tracees.hpp"
#include "ptrace-agent/wire/protocol.hpp"

namespace dt::agent {

class TaskEvents {
public:
    explicit TaskEvents(Tracees& tracees) : tracees_(tracees) {}

    Reply set_probes(Reader& in); // handles the request `tasks`

    // Called at the parent's stop for a new thread, or for a new process.
    void created(Thread& parent, pid_t child, bool is_thread);
    void started(Thread& thread); // at the first stop of a new task
    void executed(Thread& thread);
    void exits(Thread& thread); // at PTRACE_EVENT_EXIT
    // Called before a signal is delivered. Returns true if the thread must stop at the
    // first instruction of the signal's handler.
    bool receives(Thread& thread, int signal);
    // Called before a stopped thread is resumed. Does nothing unless the last call of
    // receives() has returned true.
    void begins_handler(Thread& thread);

private:
    bool fires(const Process& process, TaskEvent event) const;
    // Returns whether the threads must stop at PTRACE_EVENT_EXIT.
    bool needs_exits(const Process& process) const;
    void fire(Thread& thread, TaskEvent event, std::span<const std::uint64_t> args);

    Tracees& tracees_;
};

} // namespace dt::agent
