// SPDX-License-Identifier: MIT
// What a stopped thread's registers say when its pc is in a trampoline or in the runtime.
#pragma once

#include "fasttrap/registers.hpp"
#include "ptrace-agent/address_space.hpp"

#include <csignal>
#include <optional>
#include <sys/user.h>

namespace dt::agent {

bool in_our_code(const AddressSpace& space, TargetAddr pc);

// The window that pc is in behind its first byte, where only a jump that nobody foresaw
// leads; nullptr: there is none.
Planted* window_around(const AddressSpace& space, TargetAddr pc);
bool is_inside_window(const AddressSpace& space, TargetAddr pc);

// Raised by the kernel for an instruction, not sent by somebody.
bool is_synchronous(const siginfo_t& info);

// Of the kernel's SIGTRAP for an int3, which leaves the pc behind it.
bool is_breakpoint(const siginfo_t& info);
TargetAddr trapped_at(const siginfo_t& info, const user_regs_struct& user);

// The struct dt_rt_frame of a thread that is in the runtime, on a shard's stack.
std::optional<TargetAddr> frame_of(const AddressSpace& space,
                                   const user_regs_struct& user);

// Out of the trampoline at once: where the program's text goes on from this place.
bool put_on_program(AddressSpace& space, const PatchPlace& place,
                    user_regs_struct& user);

// Returns the program's own pc, for samples and for those who look at a stopped thread.
TargetAddr program_pc(AddressSpace& space, const user_regs_struct& user);

Registers registers_of(const dt_rt_frame& frame, const dt_rt_config& config);

} // namespace dt::agent
