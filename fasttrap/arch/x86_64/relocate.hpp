// SPDX-License-Identifier: MIT
// Moves one x86-64 instruction permanently to another address. These parts change:
//
//   not relative to rip   nothing
//   rip-relative data     the displacement, if the data is within 2 GiB of the copy
//   lea N(%rip)           the displacement; if the address is too far, lea becomes mov
//   jmp, jcc              the displacement; if the target is too far, the jump goes
//                         through a literal, an 8-byte address that follows it
//   loop, jrcxz           the instruction branches to a jump to the target:
//                         loop 1f; jmp 2f; 1: jmp target; 2:
//   call                  a push of the original return address, and a jump
//
// A moved call pushes before it reads its target. leave_moved() undoes the push if the
// read faults.
#pragma once

#include "fasttrap/arch/arch.hpp"

namespace dt::x86 {

Moving moving(const Instruction& insn);
bool is_padding(const Instruction& insn);
Result<Ok> relocate(const Instruction& insn, CodeBuffer& out);
std::optional<Leaving> leave_moved(const Instruction& insn, std::size_t offset);

} // namespace dt::x86
