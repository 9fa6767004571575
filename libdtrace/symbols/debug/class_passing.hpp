// SPDX-License-Identifier: MIT
// Determines which C++ classes are passed by address: those that are "non-trivial for
// the purposes of calls" (Itanium C++ ABI, 3.1.2.3).
//
// Some compilers record how a class is passed (DW_AT_calling_convention). For other
// compilers, ClassPassing derives the result from the C++ class's declarations and
// members. DWARF 5 records whether a declared function is defaulted, and GCC adds this
// fact to older versions of DWARF. If the result depends on this fact and the fact is
// not recorded, the result is Unknown.
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

    // The results so far. A class that is still being examined has the value ByMembers,
    // so that circular (invalid) data do not cause endless recursion.
    std::unordered_map<const void*, Passing> known_;
};

} // namespace dt
