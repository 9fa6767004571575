// SPDX-License-Identifier: MIT
// ustack(): the program counters of a stopped thread's callers.
//
// libunwind does it, from the call frame information of the target's objects, or from
// frame pointers where an object has none. What it learned about a pc is kept per
// address space. Where neither is right at a function's first instruction, the caller
// is what stands at the top of the stack. Bounded: at most max frames, and a frame that
// does not lead to a higher stack address ends the walk.
//
// Where there is a runtime it is given a rule (unwind_rules.hpp) for each frame met, if
// there is one and it leads to just what libunwind found. The runtime then walks such
// stacks itself, and asks for others. So what is walked here is what is right.
#pragma once

#include "fasttrap/registers.hpp"
#include "ptrace-agent/hold/target.hpp"

#include <cstdint>

namespace dt::agent {

// Innermost first, regs.rip itself is the first. Frames stored, or -1.
std::int64_t unwind_user_stack(Process& process, const Registers& regs,
                               std::uint64_t* pcs, std::uint32_t max);

// Objects were mapped or unmapped: what was learned may be wrong.
void forget_unwind(AddressSpace& space);

} // namespace dt::agent
