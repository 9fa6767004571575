// SPDX-License-Identifier: MIT
// Emulating x86-64 instructions on a register set.
#pragma once

#include "fasttrap/displaced.hpp"
#include "fasttrap/instruction.hpp"
#include "fasttrap/memory.hpp"
#include "fasttrap/registers.hpp"

namespace dt::x86 {

Emulation emulate(const Instruction& insn, Registers& regs, TargetMemory& memory);

// Whether emulate() would do it. Memory is read anywhere; written only by a plain store
// to the thread's own stack, by push and by call: a read-modify-write must stay one
// instruction for the other threads, and so must a store that they may be waiting for.
bool can_emulate(const Instruction& insn);

// Where the memory operand lies, with the segment's base added.
TargetAddr effective_address(const Instruction& insn, const Registers& regs);

} // namespace dt::x86
