// SPDX-License-Identifier: MIT
// Operands that compilers write with -masm=intel:
//
//   gcc    eax   7   DWORD PTR -20[rbp+rax*4]   QWORD PTR name[rip+8]
//   clang  eax   7   [rbp + 4*rax - 20]         [rip + name]
//
// The address is the sum of the terms inside and before the brackets.
#pragma once

#include "usdt/operands.hpp"

#include <string>
#include <string_view>

namespace dt::usdt {

// Returns whether the operand can only be Intel syntax.
bool is_intel_operand(std::string_view text);

// Parses an operand. `sized` is true if the note gives the operand's size. If it is
// false, sets out.bytes to the size of the register.
// Returns "", or the reason why the operand is not valid.
std::string parse_intel_operand(std::string_view text, Operand& out, bool sized);

} // namespace dt::usdt
