// SPDX-License-Identifier: MIT
// Takes hold of a process that is already running.
//
// PTRACE_SEIZE stops nothing. Threads are seized until a pass over /proc/PID/task finds no
// new thread; the kernel attaches to the children of seized threads before their first
// instruction. refusals.hpp explains why a process cannot be seized.
#pragma once

#include "ptrace-agent/hold/follower.hpp"
#include "ptrace-agent/hold/releaser.hpp"
#include "ptrace-agent/hold/tracees.hpp"
#include "ptrace-agent/trap/trap_signals.hpp"
#include "ptrace-agent/wire/client_link.hpp"
#include "ptrace-agent/wire/protocol.hpp"

namespace dt::agent {

class Grabber {
public:
    Grabber(Tracees& tracees, ClientLink& client, TracepointTable& table,
            TrapSignals& trap_signals, Follower& follower, Releaser& releaser)
        : tracees_(tracees), client_(client), table_(table),
          trap_signals_(trap_signals), follower_(follower), releaser_(releaser)
    {
    }

    // The requests of these names.
    Reply grab(Reader& in);
    Reply put_back(Reader& in);

private:
    Result<Ok> seize_all(Process& process, std::uint64_t& ends);
    bool has_missed_thread(const Process& process);
    bool await_exec(const AddressSpace& space);

    Tracees& tracees_;
    ClientLink& client_;
    TracepointTable& table_;
    TrapSignals& trap_signals_;
    Follower& follower_;
    Releaser& releaser_;
};

} // namespace dt::agent
