// SPDX-License-Identifier: MIT
// The code around relocated instructions in a trampoline, and the trap bytes.
// ptrace-agent's runtime/runtime.h shows this code.
#pragma once

#include "fasttrap/arch/arch.hpp"

namespace dt::x86 {

constexpr std::size_t head_bytes = 17;
constexpr std::size_t tail_bytes = 9;

void put_head(std::uint32_t site, TargetAddr enter, CodeBuffer& out);
void put_tail(CodeBuffer& out);
void put_jump(TargetAddr to, CodeBuffer& out);
std::optional<Leaving> leave_head(TargetAddr insn, std::size_t offset);
std::optional<Leaving> leave_tail(TargetAddr insn, std::size_t offset);

bool traps(std::byte first);

} // namespace dt::x86
