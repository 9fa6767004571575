// SPDX-License-Identifier: MIT
#include "libdtrace/symbols/debug/class_passing.hpp"

#include <dwarf.h>

namespace dt {

static constexpr int max_depth = 64; // limit for nested classes

// Returns whether the entry is a "user-provided" copy constructor, move constructor or
// destructor. This means that the author declared it, and neither deleted nor defaulted
// it in the class.
static bool is_special_function(Dwarf_Die* die, Dwarf_Die* of)
{
    std::string_view name = name_of(die), class_name = name_of(of);
    // A template's constructor is named without the template's arguments.
    class_name = class_name.substr(0, class_name.find('<'));
    bool is_destructor = name.starts_with('~');
    if (dwarf_hasattr(die, DW_AT_artificial) != 0 ||
        number(die, DW_AT_defaulted).value_or(0) == DW_DEFAULTED_in_class ||
        has(die, DW_AT_deleted) ||
        (!is_destructor && name.substr(0, name.find('<')) != class_name))
        return false;
    if (is_destructor)
        return true;
    int n_parameters = 0;
    bool takes_one_of_its_own = false;
    for_children(die, [&](Dwarf_Die* child) {
        Dwarf_Die type;
        if (dwarf_tag(child) != DW_TAG_formal_parameter ||
            dwarf_hasattr(child, DW_AT_artificial) != 0)
            return true;
        if (n_parameters++ == 0 && entry_at(child, DW_AT_type, type) &&
            (dwarf_tag(&type) == DW_TAG_reference_type ||
             dwarf_tag(&type) == DW_TAG_rvalue_reference_type) &&
            plain_type(&type, type))
            takes_one_of_its_own = type.addr == of->addr;
        return n_parameters < 2;
    });
    return n_parameters == 1 && takes_one_of_its_own;
}

static bool element_type(Dwarf_Die* member, Dwarf_Die& into)
{
    bool found = plain_type(member, into);
    for (int n = 0; found && n < max_depth && dwarf_tag(&into) == DW_TAG_array_type;
         n++)
        found = plain_type(&into, into);
    return found;
}

// Returns whether the debug data use DW_AT_defaulted and DW_AT_deleted.
static bool says_what_is_defaulted(Dwarf_Die* type)
{
    Dwarf_Die unit;
    Dwarf_Half version = 0;
    if (dwarf_cu_die(type->cu, &unit, &version, nullptr, nullptr, nullptr, nullptr,
                     nullptr) == nullptr)
        return false;
    Dwarf_Attribute found;
    const char* text = nullptr;
    if (dwarf_attr_integrate(&unit, DW_AT_producer, &found) != nullptr)
        text = dwarf_formstring(&found);
    std::string_view producer = text != nullptr ? text : "";
    return version >= 5 || (producer.starts_with("GNU") &&
                            producer.find("-gstrict-dwarf") == producer.npos);
}

Passing ClassPassing::ask(Dwarf_Die* type, int depth)
{
    if (auto said = number(type, DW_AT_calling_convention))
        return *said == DW_CC_pass_by_reference ? Passing::ByReference
                                                : Passing::ByMembers;
    auto [known, is_new] = known_.try_emplace(type->addr, Passing::ByMembers);
    if (!is_new || depth > max_depth)
        return known->second;
    Passing answer = by_its_parts(type, depth);
    known_[type->addr] = answer;
    return answer;
}

Passing ClassPassing::by_its_parts(Dwarf_Die* type, int depth)
{
    Passing found = Passing::ByMembers;
    for_children(type, [&](Dwarf_Die* child) {
        Dwarf_Die part;
        Passing its = Passing::ByMembers;
        switch (dwarf_tag(child)) {
        case DW_TAG_subprogram:
            if (is_special_function(child, type))
                its = says_what_is_defaulted(type) ? Passing::ByReference
                                                   : Passing::Unknown;
            break;
        case DW_TAG_inheritance:
        case DW_TAG_member:
            if (!has(child, DW_AT_external) && element_type(child, part) &&
                is_class(&part))
                its = ask(&part, depth + 1);
            break;
        default:
            break;
        }
        if (number(child, DW_AT_virtuality).value_or(0) != 0)
            its = Passing::ByReference;
        if (its != Passing::ByMembers)
            found = its;
        return found != Passing::ByReference;
    });
    return found;
}

} // namespace dt
