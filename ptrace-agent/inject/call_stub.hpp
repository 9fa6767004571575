// SPDX-License-Identifier: MIT
// The stub for injected system calls. If the agent dies during a call, the stub
// restores the thread.
//
// The stub (call_stub.S) is written into the zeros at the end of an executable mapping.
// Only one thread uses it at a time. The block in the stub contains that thread's
// registers and signal mask from before the call.
#pragma once

#include "base/target_addr.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <sys/user.h>

namespace dt::agent {

// The layout of dt_call_stub_block in call_stub.S.
struct CallBlock {
    std::uint64_t mask;
    std::uint64_t r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8;
    std::uint64_t rax, rcx, rdx, rsi, rdi, rip, flags, rsp;
};

// Returns the code of the stub with its block. The result is empty if there is no stub
// for this machine.
std::span<const std::byte> call_stub();
// Returns the address of the block in a stub that begins at the address `stub`.
TargetAddr block_of(TargetAddr stub);

// Returns the registers with which a thread continues from the state `before`. If a
// system call was interrupted, they make the program execute its `syscall` instruction
// again.
user_regs_struct resumed(user_regs_struct before);
// Returns the contents of the block: the signal mask, and the registers that resumed()
// returns.
CallBlock block_for(const user_regs_struct& before, std::uint64_t mask);

} // namespace dt::agent
