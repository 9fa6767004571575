// SPDX-License-Identifier: MIT
// The socket at which further dtrace processes begin a session with a running agent.
//
//   client: knock(pid) ──connect──> "@dtrace-agent-PID" ──> Door::take() :agent
//
// The socket has an abstract name, so it needs no file, and it ends with the agent. Any
// process may connect. Both ends therefore read the ids of the other end from the kernel
// (SO_PEERCRED). The agent accepts only clients with the user id of the dtrace that
// started it. agent.cpp also checks the trust domain, because a sandboxed process must
// not control the processes outside its sandbox. The client accepts only the process with
// this pid, and only if the client's user started it.
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
    // A process that has connected. It has the user id of the dtrace that started the
    // agent.
    struct Caller {
        Fd socket;
        pid_t pid = 0;
    };
    // Returns the processes that have connected since the last call.
    std::vector<Caller> take();
    void close() { socket_.reset(); }

private:
    Fd socket_;
    uid_t owner_; // the user of the client that has started the agent
};

// Connects to the door of an agent. Fails with Code::not_found if the process is not an
// agent with a door, and with Code::permission if the agent belongs to another user.
Result<Fd> knock(pid_t agent);

} // namespace dt::agent
