// SPDX-License-Identifier: MIT
// Decodes x86-64 instructions into the instruction model.
#pragma once

#include "base/result.hpp"
#include "fasttrap/arch/x86_64/opcodes.hpp"
#include "fasttrap/instruction.hpp"

#include <span>
#include <string_view>

namespace dt::x86 {

Result<Instruction> decode(std::span<const std::byte> text, TargetAddr at);

// Returns why insn must not run displaced, or an empty string if it may. Refuses the
// instructions in X86_REFUSED and those with two segment prefixes.
std::string_view refusal_of(const Instruction& insn);

inline Op operation_of(const Instruction& insn)
{
    return static_cast<Op>(insn.operation);
}

inline std::uint8_t byte_at(const Instruction& insn, std::size_t i)
{
    return static_cast<std::uint8_t>(insn.bytes[i]);
}

} // namespace dt::x86
