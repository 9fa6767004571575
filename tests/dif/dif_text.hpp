// SPDX-License-Identifier: MIT
// DIF as text: the form that the disassembler prints, read back.
//
// In addition to that form: `setx #5, %r1` and `sets "abc", %r1` add to the tables, `call
// strlen, %r1` and `ldgs arg0, %r1` name rows, `word 0x0e000001` is any instruction.
#pragma once

#include <string>

#include "tests/unit/dif/dof_builder.hpp"

namespace dif_test {

// Appends one instruction. Throws std::runtime_error with what is wrong in the line.
void assemble(Difo& to, const std::string& line);

// A double-quoted string with \n, \t, \0, \xHH, \\ and \" in it, at text[at]; at moves
// behind it.
std::string quoted(const std::string& text, std::size_t& at);

} // namespace dif_test
