// SPDX-License-Identifier: MIT
// Moves one x86-64 instruction permanently to another address. What changes depends on
// the instruction:
//
//   not relative to rip   nothing
//   rip-relative data     the displacement, if the data is within 2 GiB of the copy
//   lea of rip            the same; if the address is too far, it becomes a mov
//   jmp, jcc              the displacement; if the target is too far, it becomes a jump
//                         through a literal
//   loop, jrcxz           it leads to a jump to the target:
//                         loop 1f; jmp 2f; 1: jmp target; 2:
//   call                  it becomes a push of the original return address and a jump
//
// A moved call pushes before it reads its target. The original reads first. The program
// cannot notice: if the read faults, leave_moved() takes back the push.
#pragma once

#include "fasttrap/arch/arch.hpp"

namespace dt::x86 {

Moving moving(const Instruction& insn);
bool is_padding(const Instruction& insn);
Result<Ok> relocate(const Instruction& insn, CodeBuffer& out);
std::optional<Leaving> leave_moved(const Instruction& insn, std::size_t offset);

} // namespace dt::x86
