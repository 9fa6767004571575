// SPDX-License-Identifier: MIT
// Restartable sequences of a target's threads, which compiled code counts by.
//
// That code finds a thread's struct rseq at one distance from fs_base, as glibc has it since
// 2.35, and believes its cpu_id when that is a CPU's number. So each thread's must be
// there, and be its own:
//
//   not registered      cpu_id is negative; glibc's new threads are so until they have
//                       registered, but for what an ended thread left in a stack that is
//                       used again: that is put right at the thread's first stop
//   vfork, CLONE_VM     the child runs on its parent's fs_base and is not registered: no
//                       sequences while it lives
//   anything else odd   no sequences in this target
//
// Without sequences the same code counts by locked instructions.
#pragma once

#include "ptrace-agent/hold/tracees.hpp"

namespace dt::agent {

class RseqAreas {
public:
    explicit RseqAreas(Tracees& tracees) : tracees_(tracees) {}

    // All threads stand still, right after the runtime was loaded.
    void learn(AddressSpace& space);
    void allow(AddressSpace& space); // or not, when a guest has come or gone
    void begin(Thread& thread);      // before its first instruction

private:
    Tracees& tracees_;
};

} // namespace dt::agent
