// SPDX-License-Identifier: MIT
// The socket at which further dtrace processes begin a session with a running agent.
//
//   client: knock(pid) ──connect──> "@dtrace-agent-PID" ──> Door::take() :agent
//
// The socket has an abstract name, so it needs no file, and it ends with the agent. Any
// process may connect. Both ends therefore read the ids of the other end from the kernel
// (SO_PEERCRED). The agent accepts only processes of its own user, and only if they are
// in its trust domain, because a sandboxed process must not control the processes outside
// its sandbox. The client accepts only the process with this pid, if it runs as the
// client's user.
//
// If another process has taken the name first, the agent has no door, and its targets
// cannot be traced by further dtrace processes.
#pragma once

#include "base/fd.hpp"
#include "base/result.hpp"

#include <sys/types.h>
#include <vector>

namespace dt::agent {

class Door {
public:
    // Opens the door. Mailbox::rang() then reports connections.
    Door();
    // A process of the agent's user that has connected.
    struct Caller {
        Fd socket;
        pid_t pid = 0;
    };
    std::vector<Caller> take();

private:
    Fd socket_;
    uid_t owner_; // the user of the client that has started the agent
};

// Connects to the door of an agent. Fails with Code::not_found if the process is not an
// agent with a door, and with Code::permission if the agent belongs to another user.
Result<Fd> knock(pid_t agent);

} // namespace dt::agent
