// SPDX-License-Identifier: MIT
#include "libdtrace/symbols/debug/dwarf_entry.hpp"

#include <algorithm>
#include <dwarf.h>

namespace dt {

std::string_view name_of(Dwarf_Die* die)
{
    const char* name = dwarf_diename(die);
    return name != nullptr ? name : "";
}

std::optional<std::uint64_t> number(Dwarf_Die* die, unsigned attribute)
{
    Dwarf_Attribute found;
    Dwarf_Word value = 0;
    if (dwarf_attr_integrate(die, attribute, &found) == nullptr ||
        dwarf_formudata(&found, &value) != 0)
        return std::nullopt;
    return value;
}

bool has(Dwarf_Die* die, unsigned attribute)
{
    return dwarf_hasattr_integrate(die, attribute) != 0;
}

bool entry_at(Dwarf_Die* die, unsigned attribute, Dwarf_Die& into)
{
    Dwarf_Attribute found;
    if (dwarf_attr_integrate(die, attribute, &found) == nullptr ||
        dwarf_formref_die(&found, &into) == nullptr)
        return false;
    Dwarf_Die whole;
    if (dwarf_attr(&into, DW_AT_signature, &found) != nullptr &&
        dwarf_formref_die(&found, &whole) != nullptr)
        into = whole;
    return true;
}

bool plain_type(Dwarf_Die* die, Dwarf_Die& into)
{
    // dwarf_peel_type() never returns if a typedef refers to itself.
    constexpr int max_types = 100;
    constexpr int transparent[] = {
        DW_TAG_typedef,       DW_TAG_const_type,  DW_TAG_volatile_type,
        DW_TAG_restrict_type, DW_TAG_atomic_type, DW_TAG_immutable_type,
        DW_TAG_packed_type,   DW_TAG_shared_type, DW_TAG_template_alias};
    Dwarf_Die at = *die;
    for (int n = 0; n < max_types && entry_at(&at, DW_AT_type, at); n++) {
        if (std::ranges::find(transparent, dwarf_tag(&at)) == std::end(transparent)) {
            into = at;
            return true;
        }
    }
    return false;
}

bool is_class(Dwarf_Die* die)
{
    int tag = dwarf_tag(die);
    return tag == DW_TAG_class_type || tag == DW_TAG_structure_type;
}

int language_of(Dwarf_Die* die)
{
    Dwarf_Die unit;
    if (dwarf_cu_die(die->cu, &unit, nullptr, nullptr, nullptr, nullptr, nullptr,
                     nullptr) == nullptr)
        return 0;
    int language = dwarf_srclang(&unit);
    return language > 0 ? language : 0;
}

} // namespace dt
