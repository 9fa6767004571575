// SPDX-License-Identifier: MIT
// The states of stopped threads that a confined agent knows from the reports of its
// broker (relay.hpp). The agent reads and changes a state without asking the broker, and
// later sends the changes to it.
#pragma once

#include "ptrace-agent/confine/relay.hpp"

#include <array>
#include <cstdint>
#include <sys/types.h>

namespace dt::agent {

// A stopped thread, from its report until a request may change its state in an unknown
// way.
struct StoppedThread {
    pid_t tid = 0;
    bool has_report = false; // waitpid(2) has not taken the report yet
    int status = 0;          // the wait status
    StopState state{};
};

// Returns null if the thread's state is not known.
StoppedThread* find_stopped(std::uint64_t tid);

// Keeps the state of a thread that was reported. `has_report` is false if the report was
// consumed.
void keep_state(pid_t tid, int status, bool has_report, const RelayReply& reply);

// The arguments of a ptrace(2) call.
using TraceArguments = std::array<std::uint64_t, 6>;

// Answers a request from the known state. Returns false if the broker must be asked.
bool read_state(const TraceArguments& args, const StopState& state, long& result);

// Changes the known state in the same way as the broker will. Returns false if the
// result of the request is not known in advance.
bool change_state(const TraceArguments& args, StopState& state);

} // namespace dt::agent
