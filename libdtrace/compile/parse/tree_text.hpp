// SPDX-License-Identifier: MIT
// Writes a tree as D text. dtrace -d prints this text for a program after its if
// statements have been rewritten as clauses.
#pragma once

#include "libdtrace/compile/ast.hpp"

#include <string>

namespace dt {

// Writes clauses, and the variables, inlines and translators between them, in their
// order. The tree must not have been checked yet, so that the names are as the program
// wrote them. Types that the program declares are omitted.
std::string tree_text(const Unit& unit);

} // namespace dt
