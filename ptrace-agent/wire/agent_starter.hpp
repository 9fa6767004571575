// SPDX-License-Identifier: MIT
// A process that starts agents. dtrace forks it before it reads anything from targets.
//
//   dtrace ──forks──> starter ──clones──> agent, agent, ...   all are children of dtrace
//
// An agent is a copy of the process that creates it. If dtrace forked an agent later, the
// agent's memory would contain what dtrace has read from processes of other users.
//
// The starter exits when this object is destroyed, or when dtrace dies.
#pragma once

#include "base/fd.hpp"
#include "base/result.hpp"

#include <sys/types.h>

namespace dt {

class AgentStarter {
public:
    // Forks the starter. Errors: those of socketpair(2) and fork(2).
    static Result<AgentStarter> begin();
    AgentStarter(AgentStarter&&) noexcept = default;
    AgentStarter& operator=(AgentStarter&&) = delete;
    ~AgentStarter();

    // Starts an agent with its end of the socket to its client. Returns the process id of
    // the agent, which is a child of the calling process. Fails if clone(2) fails, or if
    // the starter has exited or does not reply in time.
    Result<pid_t> start(Fd agent_end);
    pid_t pid() const { return pid_; }

private:
    AgentStarter(Fd socket, pid_t pid);

    Fd socket_;
    pid_t pid_;
    Fd exit_; // a pidfd; empty before Linux 5.3
};

} // namespace dt
