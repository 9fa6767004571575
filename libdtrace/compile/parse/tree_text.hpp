// SPDX-License-Identifier: MIT
// Writes a tree as D text. dtrace -d prints this text for a program after its if
// statements have been rewritten as clauses.
#pragma once

#include "libdtrace/compile/ast.hpp"

#include <string>

namespace dt {

// Writes a program's options, and then its clauses, variables, inlines and translators
// in the order of the program. The tree must not have been checked yet, so that names
// are as the program wrote them. Types and provider blocks that the program declares
// are omitted.
std::string tree_text(const Unit& unit);

} // namespace dt
