// SPDX-License-Identifier: MIT
// Reads one entry of DWARF. The attributes of an entry include those of the entry that
// it completes (DW_AT_specification, DW_AT_abstract_origin).
#pragma once

#include <cstdint>
#include <elfutils/libdw.h>
#include <optional>
#include <string_view>

namespace dt {

std::string_view name_of(Dwarf_Die* die);
std::optional<std::uint64_t> number(Dwarf_Die* die, unsigned attribute);
bool has(Dwarf_Die* die, unsigned attribute);

// Follows a reference, also into a type unit.
bool entry_at(Dwarf_Die* die, unsigned attribute, Dwarf_Die& into);
// Finds the entry's type, without typedefs and qualifiers. Returns false if there is
// none.
bool plain_type(Dwarf_Die* die, Dwarf_Die& into);

bool is_class(Dwarf_Die* die); // true for a struct, too

// Returns 0 if the language is not recorded.
int language_of(Dwarf_Die* die);

template <class F> void for_children(Dwarf_Die* die, F visit)
{
    Dwarf_Die child;
    if (dwarf_child(die, &child) != 0)
        return;
    do {
        if (!visit(&child))
            return;
    } while (dwarf_siblingof(&child, &child) == 0);
}

} // namespace dt
