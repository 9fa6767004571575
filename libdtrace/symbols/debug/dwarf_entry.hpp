// SPDX-License-Identifier: MIT
// One entry of DWARF: what its attributes say, where they lead, what is below it.
//
// An attribute of another entry that this one completes (DW_AT_specification,
// DW_AT_abstract_origin) is its own.
#pragma once

#include <cstdint>
#include <elfutils/libdw.h>
#include <optional>
#include <string_view>

namespace dt {

std::string_view name_of(Dwarf_Die* die);
std::optional<std::uint64_t> number(Dwarf_Die* die, unsigned attribute);
bool has(Dwarf_Die* die, unsigned attribute);

// A type that only says in which type unit it is leads to that one.
bool entry_at(Dwarf_Die* die, unsigned attribute, Dwarf_Die& into);
// Its type, behind typedefs and qualifiers.
bool plain_type(Dwarf_Die* die, Dwarf_Die& into);

bool is_class(Dwarf_Die* die); // a struct, too

// Of the unit that it is in; 0: not said.
int language_of(Dwarf_Die* die);

// Each child until `visit` says no.
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
