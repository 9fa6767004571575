// SPDX-License-Identifier: MIT
// System calls that a stopped thread of a target makes for the agent.
//
// The thread is put on a `syscall` instruction, runs it, and gets back its registers, its
// signal mask and a stop as it was in. The instruction is that of call_stub(), which gives
// back registers and mask by itself if we die, in bytes of the text that nobody executes;
// where there are none, one that the memory already has (the vDSO's). A target under a
// seccomp filter would be killed for a call that the filter forbids, so the filter is
// suspended meanwhile, which only a privileged tracer may; otherwise injection is refused.
//
// Files: remote_call.cpp; late_call.cpp for calls that do not return in time.
#pragma once

#include "base/result.hpp"
#include "ptrace-agent/hold/tracees.hpp"

#include <array>
#include <cstdint>
#include <string>

namespace dt::agent {

class Injector {
public:
    explicit Injector(Tracees& tracees) : tracees_(tracees) {}

    // Returns what the call returned, an errno included. The thread may have ended then.
    Result<std::uint64_t> call(Thread& thread, long number,
                               std::array<std::uint64_t, 6> args);
    // Maps slots for copies of instructions if none is free. False: none can be had.
    bool ensure_slots(Thread& thread);

    // Returns whether a thread has not yet returned from a call through the stub.
    bool is_stub_in_use(const AddressSpace& space) const;
    // StopHandler::end_late_call()
    bool end_late_call(Thread& thread);

private:
    Result<Ok> leave_exec(Thread& thread);
    Result<Ok> find_syscall_insn(AddressSpace& space);
    std::string refusal(Thread& thread);
    Result<std::uint64_t> run_call(Thread& thread, bool& stop_again);
    Waited run_to_stop(Thread& thread, int request, WaitStatus& status);
    Result<std::uint64_t> step_over_call(Thread& thread, std::uint64_t insn,
                                         bool& stop_again);
    void recall(Thread& thread);

    Tracees& tracees_;
};

} // namespace dt::agent
