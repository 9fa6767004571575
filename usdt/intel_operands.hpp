// SPDX-License-Identifier: MIT
// Operands as -masm=intel makes the compilers write them:
//
//   gcc    eax   7   DWORD PTR -20[rbp+rax*4]   QWORD PTR name[rip+8]
//   clang  eax   7   [rbp + 4*rax - 20]         [rip + name]
//
// What stands in brackets and before them is added up.
#pragma once

#include "usdt/operands.hpp"

#include <string>
#include <string_view>

namespace dt::usdt {

// It can be nothing else: constants look as they do in AT&T's.
bool is_intel_operand(std::string_view text);

// sized: out.bytes is known, and is not the register's. Empty: it is one; else what is wrong.
std::string parse_intel_operand(std::string_view text, Operand& out, bool sized);

} // namespace dt::usdt
