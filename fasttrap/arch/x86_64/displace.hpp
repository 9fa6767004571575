// SPDX-License-Identifier: MIT
// Plans how an x86-64 instruction runs displaced.
#pragma once

#include "fasttrap/displaced.hpp"
#include "fasttrap/instruction.hpp"

namespace dt::x86 {

Displaced plan_displaced(const Instruction& insn);
Displaced plan_after_fault(const Instruction& insn, const MemoryFault& fault);

} // namespace dt::x86
