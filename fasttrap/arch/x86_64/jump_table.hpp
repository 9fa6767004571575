// SPDX-License-Identifier: MIT
// Distinguishes jump tables from tail calls.
#pragma once

#include "fasttrap/arch/arch.hpp"

namespace dt::x86 {

IndirectJump classify_jump(std::span<const Instruction> code);

} // namespace dt::x86
