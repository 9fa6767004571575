// SPDX-License-Identifier: MIT
// How the runtime identifies a thread: by its fs_base, through the config's table. The
// agent learns the fs_base of a thread in two ways:
//
//   first stop of a thread     the thread has the fs_base that clone(2) gave it
//   an upcall of the runtime   (DT_RT_UP_TID) the thread has an fs_base that the table
//                              lacks: after an exec the main thread sets its own; so
//                              does a thread without CLONE_SETTLS, as all threads of Go
//
// Without CLONE_SETTLS a thread begins with its parent's fs_base. While two threads may
// share an fs_base, it identifies neither of them: both make upcalls, and the agent
// answers by the thread's tid. When one of them has made an upcall from another
// fs_base, was found there or has exited, the fs_base identifies the other one again. A
// thread that changes from one fs_base of its own to another is never identified by it,
// because threads might exchange theirs.
#pragma once

#include "ptrace-agent/hold/tracees.hpp"

#include <cstdint>

namespace dt::agent {

class ThreadBases {
public:
    explicit ThreadBases(Tracees& tracees) : tracees_(tracees) {}

    // From a stopped thread's registers; nothing where there is no runtime.
    void learn(Thread& thread);
    // From an upcall. fs_base comes from the runtime: a wrong value does harm only in this
    // target.
    void learn_from_upcall(Thread& thread, std::uint64_t fs_base);

private:
    void place(Thread& thread, std::uint64_t fs_base);
    void leave_base(Thread& thread);
    void find_others(AddressSpace& space, Thread& thread);

    Tracees& tracees_;
};

} // namespace dt::agent
