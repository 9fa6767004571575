// SPDX-License-Identifier: MIT
// The socket at which further dtrace processes begin a session with a running agent.
//
//   client: knock(pid) ──connect──> "@dtrace-agent-PID-N" ──> Door::take() :agent
//
// The socket has an abstract name, so it needs no file, and it ends with the agent. Any
// process may connect. Both ends therefore read the ids of the other end from the kernel
// (SO_PEERCRED). The agent decides which clients it accepts (Agent::admit_clients()). The
// client accepts only the process with this pid, and AgentClient::join() decides which
// users may own it.
//
// If another process has already taken the name, the agent has no door, and further
// dtrace processes cannot trace its targets.
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
    // A process that has connected.
    struct Caller {
        Fd socket;
        pid_t pid = 0;
        uid_t user = 0;
    };
    // Returns the processes that have connected since the last call.
    std::vector<Caller> take();
    // Returns the user of the client that has started the agent.
    uid_t owner() const { return owner_; }
    void close() { socket_.reset(); }

private:
    Fd socket_;
    uid_t owner_;
};

struct OpenedDoor {
    Fd socket;
    uid_t user = 0; // of the dtrace that has started the agent
};
// Connects to the door of an agent. Fails with Code::not_found if the process is not an
// agent with a door.
Result<OpenedDoor> knock(pid_t agent);

} // namespace dt::agent
