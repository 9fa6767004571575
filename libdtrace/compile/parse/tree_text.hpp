// SPDX-License-Identifier: MIT
// A tree as D text, for dtrace -d: what the program is once each if is clauses.
#pragma once

#include "libdtrace/compile/ast.hpp"

#include <string>

namespace dt {

// Clauses, and the variables, inlines and translators between them, in their order.
// Before the check: names are as written. Types of the program's own are not shown.
std::string tree_text(const Unit& unit);

} // namespace dt
