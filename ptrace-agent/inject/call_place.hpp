// SPDX-License-Identifier: MIT
// The place at which injected system calls execute: the address of a `syscall`
// instruction in the target's text.
//
//   unknown ──> the stub (call_stub.hpp), which the agent has written
//           └─> an existing instruction, if no mapping has space for the stub
//
// The first call searches for the place. After the stub is removed, the place is
// unknown again.
#pragma once

#include "base/target_addr.hpp"

#include <string>
#include <sys/types.h>
#include <utility>

namespace dt::agent {

class AddressSpace;

class CallPlace {
public:
    bool known() const { return insn_.value != 0; }
    TargetAddr insn() const { return insn_; } // 0: unknown
    TargetAddr stub() const { return stub_; } // 0: not written
    void use_stub(TargetAddr at) { stub_ = insn_ = at; }
    void use_existing(TargetAddr at) { insn_ = at; }
    // Keeps a stub after forget_all(), while a thread may be in it (late_call.cpp).
    void keep_stub(TargetAddr at) { stub_ = at; }
    // Overwrites the stub with the zeros that were there before.
    void remove_stub(AddressSpace& space);
    static void clear_stub(int mem, TargetAddr at);
    // Overwrites the copy of the stub in the memory of a forked child.
    void remove_stub_in(pid_t child) const;

    // Why no system call can be injected. Empty if system calls can be injected.
    const std::string& refusal() const { return refusal_; }
    void refuse(std::string why) { refusal_ = std::move(why); }

    void forget_all() { *this = {}; }

private:
    TargetAddr stub_, insn_;
    std::string refusal_;
};

} // namespace dt::agent
