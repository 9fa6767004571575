// SPDX-License-Identifier: MIT
// ustack(): finds the program counters of a stopped thread's callers.
//
// libunwind walks the stack with the call frame information of the target's objects.
// For an object without call frame information, it uses frame pointers. Each address
// space has a cache of unwind information, with the pc as the key. If libunwind finds
// no caller, the thread may be at the first instruction of a function. In that case,
// the word at the top of the stack is taken as the caller if it points into executable
// memory.
//
// A walk is bounded. It finds at most `max` frames, makes a limited number of reads,
// and ends at a frame that does not lead to a higher stack address.
//
// If the target has a runtime, the agent gives it a rule (unwind_rules.hpp) for each
// frame of a walk, unless the rule would lead to a different caller than libunwind
// found. With these rules, the runtime itself can walk a stack that consists of such
// frames. For any other stack, the runtime makes an upcall.
#pragma once

#include "fasttrap/registers.hpp"
#include "ptrace-agent/hold/target.hpp"

#include <cstdint>

namespace dt::agent {

// Stores at most `max` program counters: first regs.rip, then the innermost caller, and
// so on. Returns how many it has stored.
std::int64_t unwind_user_stack(Process& process, const Registers& regs,
                               std::uint64_t* pcs, std::uint32_t max);

// Discards the cached unwind information and the runtime's rules. Must be called after
// objects were mapped or unmapped.
void forget_unwind(AddressSpace& space);

} // namespace dt::agent
