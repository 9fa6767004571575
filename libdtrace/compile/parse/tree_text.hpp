// SPDX-License-Identifier: MIT
// Writes a tree as D text, which dtrace -d prints.
#pragma once

#include "libdtrace/compile/ast.hpp"

#include <string>

namespace dt {

// Writes a program's options, and then its clauses, variables, inlines and translators
// in their order. Omits types and provider blocks. Call this before the checker
// replaces names.
std::string tree_text(const Unit& unit);

} // namespace dt
