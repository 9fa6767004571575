// SPDX-License-Identifier: MIT
// Writes a tree as D text. dtrace -d prints this text for a program after its if
// statements have been rewritten as clauses.
#pragma once

#include "libdtrace/compile/ast.hpp"

#include <string>

namespace dt {

// Writes the options, clauses, variables, inlines and translators of a program in their
// order. The tree must not have been checked yet, so that names are as the program
// wrote them. Types and provider blocks that the program declares are omitted.
std::string tree_text(const Unit& unit);

} // namespace dt
