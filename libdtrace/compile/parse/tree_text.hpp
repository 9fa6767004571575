// SPDX-License-Identifier: MIT
// Writes a tree as D text, which dtrace -d prints.
#pragma once

#include "libdtrace/compile/ast.hpp"

#include <string>

namespace dt {

// Writes a program's options, and then its clauses, variables, inlines and translators
// in their order. The tree must not have been checked yet, so that names are as in the
// program. Types and provider blocks are omitted.
std::string tree_text(const Unit& unit);

} // namespace dt
