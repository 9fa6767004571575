// SPDX-License-Identifier: MIT
// Assembles DIF from text in the form that the disassembler prints.
//
// It also accepts forms that the disassembler does not print. `setx #5, %r1` and
// `sets "abc", %r1` add their constants to the tables. `call strlen, %r1` and
// `ldgs arg0, %r1` use names instead of numbers. `word 0x0e000001` gives the 32 bits of
// an instruction.
#pragma once

#include <string>

#include "tests/unit/dif/dof_builder.hpp"

namespace dif_test {

// Appends the instruction in `line`. If the line is invalid, throws std::runtime_error
// with the reason.
void assemble(Difo& to, const std::string& line);

// Returns the double-quoted string at text[at], and moves `at` past it. The string may
// contain the escapes \n, \t, \0, \xHH, \\ and \".
std::string quoted(const std::string& text, std::size_t& at);

} // namespace dif_test
