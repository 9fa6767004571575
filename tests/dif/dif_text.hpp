// SPDX-License-Identifier: MIT
// Assembles DIF from text in the form that the disassembler prints.
//
// In addition: `setx #5, %r1` and `sets "abc", %r1` add their constants to the tables,
// `call strlen, %r1` and `ldgs arg0, %r1` use names instead of numbers, and `word
// 0x0e000001` is any instruction.
#pragma once

#include <string>

#include "tests/unit/dif/dof_builder.hpp"

namespace dif_test {

// Appends one instruction. Throws std::runtime_error, which says what is wrong with the
// line.
void assemble(Difo& to, const std::string& line);

// Returns the double-quoted string at text[at], and moves `at` past it. The string may
// contain the escapes \n, \t, \0, \xHH, \\ and \".
std::string quoted(const std::string& text, std::size_t& at);

} // namespace dif_test
