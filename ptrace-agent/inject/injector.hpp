// SPDX-License-Identifier: MIT
// Makes system calls in a target, through one of its stopped threads.
//
// The agent sets the thread's registers and lets the thread execute one `syscall`
// instruction. Then it restores the registers and the signal mask. After the call, the
// thread is in the same kind of stop as before. The instruction is in one of two
// places:
//
//   call_stub()     The stub in unused bytes of the text. If the agent dies during the
//                   call, the stub itself restores the registers and the mask.
//   existing code   An instruction of the vDSO or of the program, if no mapping has
//                   space for the stub.
//
// A seccomp filter could kill the target because of the call. So the agent suspends the
// filter, which requires privileges. Without them, the agent refuses to make the call.
//
// Files: remote_call.cpp makes the calls; own_mappings.cpp maps memory for the agent;
// late_call.cpp handles calls that do not return in time.
#pragma once

#include "base/result.hpp"
#include "process/maps.hpp"
#include "ptrace-agent/hold/tracees.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dt::agent {

// Private anonymous memory that the agent needs in a target.
struct OurMapping {
    Ours kind;
    TargetAddr at; // 0: any address
    std::uint64_t bytes;
    int protection;
    int flags = 0;      // of mmap(2), in addition to MAP_PRIVATE and MAP_ANONYMOUS
    bool exact = false; // maps nothing if the address `at` is not free
    // The number of bytes that a forked child inherits. By default, all of them.
    std::optional<std::uint64_t> n_inherited = std::nullopt;
};

class Injector {
public:
    explicit Injector(Tracees& tracees) : tracees_(tracees) {}

    // Makes the call and returns its result, which may be a negative errno value.
    // Returns an Error if the call was not made or did not return in time. The thread
    // may no longer exist when this function returns.
    Result<std::uint64_t> call(Thread& thread, long number,
                               std::array<std::uint64_t, 6> args);
    // Maps memory and records it in the target's journal. Returns the result of mmap(2),
    // or an Error like call().
    Result<std::uint64_t> map_ours(Thread& thread, const OurMapping& wanted);
    // Unmaps a mapping that map_ours() has created. Returns false if that fails. The
    // mapping then stays in the journal.
    bool unmap_ours(Thread& thread, TargetAddr at, std::uint64_t bytes);
    // Unmaps the journal, if none of our mappings is left.
    void close_journal(Thread& thread);
    // Makes sure that the thread can get a slot (trap/slots.hpp). Maps a page of slots
    // in the target if no slot is free. Returns false if that fails.
    bool ensure_slots(Thread& thread);

    // Returns the addresses of the stubs that killed agents have left in the text. The
    // target must be stopped.
    std::vector<TargetAddr> left_stubs(const AddressSpace& space,
                                       const std::vector<Mapping>& mappings) const;
    // Returns whether a late call (late_call.cpp) still uses the stub.
    bool is_stub_in_use(const AddressSpace& space) const;
    // Implements StopHandler::end_late_call().
    bool end_late_call(Thread& thread);

private:
    Result<Ok> leave_exec(Thread& thread);
    void open_journal(Thread& thread);
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
