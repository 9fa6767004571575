// SPDX-License-Identifier: MIT
// The runtime identifies a thread by its fs_base, which it looks up in a table in the
// config. The agent fills the table. It learns the fs_base of a thread in two ways:
//
//   first stop of a thread     The thread has the fs_base that clone(2) gave it.
//   an upcall of the runtime   (DT_RT_UP_TID) The table lacks the thread's fs_base,
//                              because the thread has changed it. The main thread does
//                              so after an exec, and so does a thread that was created
//                              without CLONE_SETTLS, like all threads in Go.
//
// Without CLONE_SETTLS a thread begins with its parent's fs_base. While two threads may
// share an fs_base, that fs_base identifies neither of them. Both make upcalls, and the
// agent answers according to the thread's tid. When one of them has exited or has been
// found with a different fs_base, the shared fs_base identifies the other thread again.
// After a thread has changed an fs_base that identified it, the agent no longer
// identifies the thread by its fs_base, because two threads might exchange their
// fs_bases.
//
// If threads share an fs_base, the agent sets a gs_base that identifies each of them.
// This value, the gs key, is an even number from 2048 to 4094 that no other thread of
// the address space has. Few programs use %gs; a thread with a gs_base or %gs of its
// own gets no key and makes an upcall for each firing. An access through %gs still
// faults, as it would with a gs_base of 0, unless vm.mmap_min_addr is 0. A new task
// inherits the gs key of the task that created it; the agent removes the inherited key
// at the new task's first stop. A gs key is also removed when its thread is detached.
// If an agent was killed and has left a key behind, the next agent removes it. A thread
// that has changed an fs_base that identified it gets no gs key, because a program that
// exchanges the fs_bases of threads may exchange their gs_bases, too.
#pragma once

#include "ptrace-agent/hold/tracees.hpp"

#include <cstdint>

namespace dt::agent {

class ThreadBases {
public:
    explicit ThreadBases(Tracees& tracees) : tracees_(tracees) {}

    // Learns the fs_base of a stopped thread from its registers. Does nothing if the
    // runtime is not loaded.
    void learn(Thread& thread);
    // Learns the fs_base of a thread from its upcall. The value was in the target's
    // memory, so the program may have changed it. A wrong value can do harm only in
    // this target. May stop the thread to set a gs key; the caller resumes it. The
    // thread may be killed during the call.
    void learn_from_upcall(Thread& thread, std::uint64_t fs_base);

private:
    void give_gs_key(Thread& thread);
    void place(Thread& thread, std::uint64_t fs_base);
    void leave_base(Thread& thread);
    void find_others(AddressSpace& space, Thread& thread);

    Tracees& tracees_;
};

} // namespace dt::agent
