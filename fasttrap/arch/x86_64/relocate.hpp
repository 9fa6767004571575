// SPDX-License-Identifier: MIT
// Moving one x86-64 instruction to another address, for good.
//
//   as it is        does not depend on rip
//   disp rewritten  rip-relative data, as long as it is within 2 GiB of the copy
//   lea             the same, or a mov of the address
//   jmp, jcc        to the original target; out of reach, through a literal
//   loop, jrcxz     over a jump that goes on: loop 1f; jmp 2f; 1: jmp target; 2:
//   call            push of the original return address, then a jump
//
// A call pushes before it reads its target, which the original does after. Nobody can
// tell: a thread that faults in between is put back by leave_moved().
#pragma once

#include "fasttrap/arch/arch.hpp"

namespace dt::x86 {

Moving moving(const Instruction& insn);
bool is_padding(const Instruction& insn);
Result<Ok> relocate(const Instruction& insn, CodeBuffer& out);
std::optional<Leaving> leave_moved(const Instruction& insn, std::size_t offset);

} // namespace dt::x86
