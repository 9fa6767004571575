// SPDX-License-Identifier: MIT
// Restartable sequences (rseq) of a target's threads. Compiled code uses them to count.
//
// Compiled code looks for a thread's struct rseq at one fixed distance from fs_base,
// where glibc 2.35 and later keep it. If the cpu_id there is a valid CPU number, the
// code relies on it. So each thread must have its own struct rseq at this place. A
// thread without one is handled as follows:
//
//   not registered     The cpu_id must be negative. glibc creates threads in this state
//                      and registers them later. A reused stack may still contain the
//                      cpu_id of an exited thread; begin() then corrects it.
//   vfork, CLONE_VM    The child uses its parent's fs_base and is not registered. No
//                      sequences are used while the child lives.
//   any other case     No sequences are used in this target.
//
// Without sequences the same code counts with locked instructions.
#pragma once

#include "ptrace-agent/hold/tracees.hpp"

namespace dt::agent {

class RseqAreas {
public:
    explicit RseqAreas(Tracees& tracees) : tracees_(tracees) {}

    // Finds the position of struct rseq. All threads are stopped, and the runtime has
    // just been loaded.
    void learn(AddressSpace& space);
    // Allows sequences, or forbids them if a child process shares the target's memory.
    // Must be called when such a child starts or exits.
    void allow(AddressSpace& space);
    static void end(AddressSpace& space); // forbids sequences permanently
    // Must be called before a new thread's first instruction. Corrects a cpu_id that an
    // exited thread left in the new thread's struct rseq. If that is not possible,
    // forbids sequences permanently.
    void begin(Thread& thread);

private:
    Tracees& tracees_;
};

} // namespace dt::agent
