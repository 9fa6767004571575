// SPDX-License-Identifier: MIT
// Determines the program's state if a thread has stopped in a trampoline or in the
// runtime.
#pragma once

#include "fasttrap/registers.hpp"
#include "ptrace-agent/address_space.hpp"

#include <csignal>
#include <optional>
#include <sys/user.h>

namespace dt::agent {

// Returns whether pc is in the runtime or in a trampoline.
bool in_our_code(const AddressSpace& space, TargetAddr pc);

// Returns whether a thread at pc may run without a tracer. A thread in the engine may
// not, because it may hold a shard and is on a stack of ours.
bool may_run_alone(const AddressSpace& space, TargetAddr pc);

// Returns the window that begins before pc and contains pc, or null. Unchanged bytes
// that a punned jump uses count as part of the window.
Planted* window_around(const AddressSpace& space, TargetAddr pc);
// Returns whether window_around() finds a window.
bool is_inside_window(const AddressSpace& space, TargetAddr pc);

// Returns whether the kernel raised the signal because of an instruction. Returns false
// for a signal that a process has sent.
bool is_synchronous(const siginfo_t& info);

// Returns whether this is the kernel's SIGTRAP for an int3. In that case the pc is the
// address after the int3.
bool is_breakpoint(const siginfo_t& info);
// Returns the address of the instruction that raised the signal.
TargetAddr trapped_at(const siginfo_t& info, const user_regs_struct& user);

// Returns the address of the struct dt_rt_frame of a thread that is in the runtime.
// Returns nothing if the thread is on another stack, or if its frame is not valid.
std::optional<TargetAddr> frame_of(const AddressSpace& space,
                                   const user_regs_struct& user);

// Returns whether a thread with these registers may still use the memory of a session.
// If not, it will not use this memory as long as the session's sites are inert.
bool may_use_session(const AddressSpace& space, const user_regs_struct& user,
                     unsigned session);

// Changes `user`, the registers of a thread in a trampoline, to the program's registers
// at the address place.on. Returns false if the stack cannot be read.
bool put_on_program(AddressSpace& space, const PatchPlace& place,
                    user_regs_struct& user);

// Returns the pc that the program would have without probes.
TargetAddr program_pc(AddressSpace& space, const user_regs_struct& user);

// Returns the program's registers from the frame. frame.site must be a valid index.
Registers registers_of(const dt_rt_frame& frame, const dt_rt_config& config);

} // namespace dt::agent
