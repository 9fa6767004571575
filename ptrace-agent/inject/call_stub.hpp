// SPDX-License-Identifier: MIT
// Where an injected system call stands, so that the death of the agent does no harm.
//
// The stub (call_stub.S) lies in bytes that nobody executes: the zeros that fill the
// last page of an executable mapping. Only one thread is in it at a time, and its block
// says how that thread was before.
#pragma once

#include "base/target_addr.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <sys/user.h>

namespace dt::agent {

// As call_stub.S has it.
struct CallBlock {
    std::uint64_t mask;
    std::uint64_t r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8;
    std::uint64_t rax, rcx, rdx, rsi, rdi, rip, flags, rsp;
};

std::span<const std::byte> call_stub(); // empty: none for this machine
TargetAddr block_of(TargetAddr stub);

// Returns the registers with which a thread continues from `before` without the kernel's
// help: a system call that was interrupted is made again by the program's own instruction.
user_regs_struct resumed(user_regs_struct before);
// The same as a block of the stub, with the signal mask.
CallBlock block_for(const user_regs_struct& before, std::uint64_t mask);

} // namespace dt::agent
