// SPDX-License-Identifier: MIT
// Assembles DIF from text in the form that the disassembler prints.
//
// Also accepts constants instead of indexes (`setx #5, %r1`, `sets "abc", %r1`) and
// names instead of numbers (`call strlen, %r1`). `word 0x0e000001` is the instruction
// with these 32 bits.
#pragma once

#include <string>

#include "tests/unit/dif/dof_builder.hpp"

namespace dif_test {

// Appends the instruction in `line`. Throws std::runtime_error if the line is invalid.
void assemble(Difo& to, const std::string& line);

// Returns the double-quoted string at text[at], and moves `at` past it. Accepts the
// escapes \n, \t, \0, \xHH, \\ and \".
std::string quoted(const std::string& text, std::size_t& at);

} // namespace dif_test
