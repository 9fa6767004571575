// SPDX-License-Identifier: MIT
// Restartable sequences (rseq) of a target's threads. Compiled code uses them to count.
//
// Compiled code expects a thread's struct rseq at one fixed distance from fs_base, as
// in glibc 2.35 and later. If the cpu_id there is a valid CPU number, the code relies
// on it. A thread without a struct rseq there is handled as follows:
//
//   not registered     The cpu_id must be negative. glibc registers a new thread after
//                      its start. A reused stack may contain an old cpu_id, which
//                      begin() corrects.
//   vfork, CLONE_VM    The child uses its parent's fs_base. No sequences are used while
//                      the child lives.
//   any other case     No sequences are used in this target.
//
// Without sequences, the same code counts with locked instructions.
#pragma once

#include "ptrace-agent/hold/tracees.hpp"

#include <optional>

namespace dt::agent {

// Returns the address of the descriptor of the sequence that a stopped thread is in, or
// 0 if it is in none. Returns nothing if that cannot be read.
std::optional<TargetAddr> armed_sequence(AddressSpace& space, pid_t tid);

class RseqAreas {
public:
    explicit RseqAreas(Tracees& tracees) : tracees_(tracees) {}

    // Finds the position of struct rseq. Must be called when the runtime has just been
    // loaded and has not fired yet, while all threads are stopped.
    void learn(AddressSpace& space);
    // Allows sequences, or forbids them while a child process shares the target's
    // memory. Must be called when such a child starts or exits.
    void allow(AddressSpace& space);
    // Forbids sequences while the agent does not see new threads. learn_again() allows
    // them again. Both must be called while all threads are stopped.
    static void pause(AddressSpace& space);
    void learn_again(AddressSpace& space);
    static void end(AddressSpace& space); // forbids sequences permanently
    // Must be called before a new thread's first instruction. Corrects a cpu_id that an
    // exited thread has left there. If that fails, forbids sequences permanently.
    void begin(Thread& thread);

private:
    Tracees& tracees_;
};

} // namespace dt::agent
