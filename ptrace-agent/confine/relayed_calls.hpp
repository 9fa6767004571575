// SPDX-License-Identifier: MIT
// Sends the system calls that a confined agent may not make itself to its broker.
//
// The seccomp filter (confinement.cpp) raises SIGSYS for such a call. The handler sends
// the call's arguments, and the memory to which they refer, to the broker. It stores the
// result as the result of the call. So the rest of the agent makes these calls as if it
// were not confined. Only the agent's main thread may make them. All signals are blocked
// in the handler, except while it waits for a target.
//
// Most stops of a thread need only two messages. The report of the stop contains the
// thread's state, so the handler can read and change this state without the broker. It
// sends the changes with the request that resumes the thread, and does not wait for a
// reply. The results of these calls are known in advance, because only SIGKILL can change
// the state of a stopped thread, and the kernel then reports the thread's exit.
#pragma once

#include "base/fd.hpp"
#include "base/result.hpp"
#include "ptrace-agent/confine/relay.hpp"

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <sys/types.h>
#include <sys/wait.h>
#include <vector>

namespace dt::agent {

// The system calls that the handler emulates.
extern const std::array<int, 13> relayed_calls;

// Installs the handler.
Result<Ok> relay_calls(int socket);

// The handler's work without SIGSYS, for the calls that the agent makes at each stop. The
// results are those of ptrace(2), waitid(2) and waitpid(2). Must be called only if the
// agent is confined.
bool relays_calls();
long relay_ptrace(int request, pid_t tid, std::uint64_t addr, void* data);
int relay_waitid(idtype_t type, id_t id, siginfo_t& report, int options);
pid_t relay_waitpid(pid_t pid, int& status, int options);

// seize_threads() (hold/seize.hpp) in a confined agent.
std::vector<SeizeResult> relay_attach(pid_t pid);

// Waits until the broker has made all calls that were sent without waiting for a reply.
// The caller is about to do something that another process can observe, and that must
// not happen before these calls. Does nothing if the agent is not confined.
void settle_calls();

// Lets the broker start a rule reader. Returns the socket, or an empty Fd.
Fd relay_rule_reader();

// pwrite(2) to the memory of a target, after settle_calls(). If the agent is killed, the
// target may depend on the order of the changes to its memory and to its threads.
ssize_t write_memory(int mem, const void* from, std::size_t n_bytes, std::uint64_t at);

// Returns whether the process is in the domain of the agent's targets. Must be called in
// the main thread of a confined agent.
bool is_in_confined_domain(pid_t pid);

} // namespace dt::agent
