// SPDX-License-Identifier: MIT
// Which classes of C++ are passed as an address: those that are "non-trivial for the
// purposes of calls" (Itanium C++ ABI, 3.1.2.3).
//
// Some compilers say it (DW_AT_calling_convention). Otherwise the class does: what it
// declares, and what it is made of. Whether what is declared is defaulted is in DWARF 5, and
// in what GCC adds to older versions; in others a declaration tells nothing.
#pragma once

#include "libdtrace/symbols/debug/dwarf_entry.hpp"
#include "libdtrace/symbols/debug/passing.hpp"

#include <unordered_map>

namespace dt {

class ClassPassing {
public:
    // ByMembers, ByReference or Unknown.
    Passing operator()(Dwarf_Die* type) { return ask(type, 0); }

private:
    Passing ask(Dwarf_Die* type, int depth);
    Passing by_its_parts(Dwarf_Die* type, int depth);

    std::unordered_map<const void*, Passing> known_; // ByMembers: not yet known, too
};

} // namespace dt
