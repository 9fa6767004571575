// SPDX-License-Identifier: MIT
// Writes a tree as D text, for dtrace -d: the program after each if has been rewritten
// as clauses.
#pragma once

#include "libdtrace/compile/ast.hpp"

#include <string>

namespace dt {

// Writes clauses, and the variables, inlines and translators between them, in their
// order. The tree must not be checked yet: names are as written. The program's own
// types are not shown.
std::string tree_text(const Unit& unit);

} // namespace dt
