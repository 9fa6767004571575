// SPDX-License-Identifier: MIT
// Emulates x86-64 instructions on a register set.
#pragma once

#include "fasttrap/displaced.hpp"
#include "fasttrap/instruction.hpp"
#include "fasttrap/memory.hpp"
#include "fasttrap/registers.hpp"

namespace dt::x86 {

Emulation emulate(const Instruction& insn, Registers& regs, TargetMemory& memory);

// Returns whether emulate() can run insn. Emulated instructions write memory only by
// push, by call, or by a mov to the thread's own stack. All other stores are visible to
// other threads, so an instruction with such a store runs as a copy.
bool can_emulate(const Instruction& insn);

// Returns the address of the memory operand, including the base of the segment.
TargetAddr effective_address(const Instruction& insn, const Registers& regs);

} // namespace dt::x86
