// SPDX-License-Identifier: MIT
// ustack(): finds the program counters of a stopped thread's callers.
//
// libunwind walks the stack with the target's call frame information, or with frame
// pointers if an object has none. If libunwind finds no caller, the word at the top of
// the stack is used, provided that it points into executable memory.
//
// A walk is bounded. It finds at most `max` frames, makes a limited number of reads,
// and ends at a frame that does not lead to a higher stack address.
//
// The agent also gives the target's runtime a rule (unwind_rules.hpp) for each frame of
// a walk. The runtime can then walk such frames itself, without an upcall.
#pragma once

#include "fasttrap/registers.hpp"
#include "ptrace-agent/hold/target.hpp"

#include <cstdint>

namespace dt::agent {

// Stores at most `max` program counters: first regs.rip, then the innermost caller, and
// so on. Returns the number of stored program counters.
std::int64_t unwind_user_stack(Process& process, const Registers& regs,
                               std::uint64_t* pcs, std::uint32_t max);

// Discards the cached unwind information and the runtime's rules. Must be called after
// objects were mapped or unmapped.
void forget_unwind(AddressSpace& space);
// Ends the process that reads call frame information. Must be called before the agent
// exits, when no target is left.
void end_rule_reader();

} // namespace dt::agent
