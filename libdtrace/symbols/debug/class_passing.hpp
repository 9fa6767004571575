// SPDX-License-Identifier: MIT
// Determines which C++ classes are passed by address: those that are "non-trivial for
// the purposes of calls" (Itanium C++ ABI, 3.1.2.3).
//
// Some compilers record the result (DW_AT_calling_convention). Otherwise, the class's
// declarations and members determine the result. If the result depends on whether a
// function is defaulted, and the debug data do not record this, the result is Unknown.
#pragma once

#include "libdtrace/symbols/debug/dwarf_entry.hpp"
#include "libdtrace/symbols/debug/passing.hpp"

#include <unordered_map>

namespace dt {

class ClassPassing {
public:
    // Returns ByMembers, ByReference or Unknown.
    Passing operator()(Dwarf_Die* type) { return ask(type, 0); }

private:
    Passing ask(Dwarf_Die* type, int depth);
    Passing by_its_parts(Dwarf_Die* type, int depth);

    // The results so far. A class that is still being examined is ByMembers, so that
    // circular data cause no endless recursion.
    std::unordered_map<const void*, Passing> known_;
};

} // namespace dt
