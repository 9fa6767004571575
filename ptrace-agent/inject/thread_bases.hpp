// SPDX-License-Identifier: MIT
// The runtime identifies a thread by its fs_base, which it looks up in a table in the
// config. The agent fills the table. It learns the fs_base of a thread in two ways:
//
//   first stop of a thread     The thread has the fs_base that clone(2) gave it.
//   an upcall of the runtime   (DT_RT_UP_TID) The table lacks the fs_base, because the
//                              thread has set another one. All threads in Go do this.
//
// Two threads may share an fs_base. The shared fs_base identifies neither of them, and
// both make upcalls. The agent answers according to the thread's tid. It also gives
// each of them a gs key. This is a value of gs_base that is unique in the address
// space, and an even number from 2048 to 4094. Accesses through %gs still fault, unless
// vm.mmap_min_addr is 0.
//
// Some threads get no gs key:
// - a thread that uses %gs or gs_base itself
// - a thread that has changed its fs_base. Its program may exchange the fs_bases and
//   gs_bases of its threads, so the agent no longer identifies this thread by its
//   fs_base.
//
// A gs key is removed when its thread is detached. A key that was inherited, or left by
// a killed agent, is removed at the thread's first stop.
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
    // Learns the fs_base of a thread from its upcall. The value is untrusted, but can
    // do harm only in this target. May stop the thread to set a gs key; the caller
    // resumes it. The thread may be killed during the call.
    void learn_from_upcall(Thread& thread, std::uint64_t fs_base);

private:
    void give_gs_key(Thread& thread);
    void place(Thread& thread, std::uint64_t fs_base);
    void leave_base(Thread& thread);
    void find_others(AddressSpace& space, Thread& thread);

    Tracees& tracees_;
};

} // namespace dt::agent
