// SPDX-License-Identifier: MIT
// Indexes the names at the top level of each unit, in namespaces and in types.
#include "libdtrace/symbols/debug/debug_types_state.hpp"

namespace dt {

// Returns whether a struct's name may be used without a keyword, as in C++. Returns
// true if the language is unknown.
static bool names_its_tags(Dwarf_Die* unit)
{
    switch (dwarf_srclang(unit)) {
    case DW_LANG_C89:
    case DW_LANG_C:
    case DW_LANG_C99:
    case DW_LANG_C11:
    case DW_LANG_ObjC:
    case DW_LANG_UPC:
    case DW_LANG_Mips_Assembler:
        return false;
    default:
        return true;
    }
}

void DwarfTypes::State::add(int kind, Dwarf_Die* die, int depth, Dwarf_Die* what)
{
    std::string_view name = name_of(die);
    if (name.empty() || !may_walk(name.size() / 64))
        return;
    if (index.size() == max_debug_names) {
        names_left_out += !index.contains({kind, name});
        return;
    }
    // An entry with a DW_AT_specification belongs to a namespace, so its depth is one
    // larger.
    DebugIndexed entry{what != nullptr ? *what : *die,
                       depth + dwarf_hasattr(die, DW_AT_specification)};
    auto [at, is_new] = index.try_emplace({kind, name}, entry);
    if (!is_new && entry.depth < at->second.depth)
        at->second = entry;
}

void DwarfTypes::State::index_entries(Dwarf_Die* parent, bool cxx, int depth)
{
    for_children(parent, [&](Dwarf_Die* die) {
        auto add_tag = [&](Kind kind) {
            if (dwarf_hasattr(die, DW_AT_declaration) != 0)
                return;
            add(static_cast<int>(kind), die, depth);
            if (cxx)
                add(static_cast<int>(Kind::Ordinary), die, depth);
        };
        if (!may_walk(1))
            return false;
        switch (dwarf_tag(die)) {
        case DW_TAG_base_type:
        case DW_TAG_typedef:
        case DW_TAG_template_alias:
            add(static_cast<int>(Kind::Ordinary), die, depth);
            break;
        case DW_TAG_structure_type:
        case DW_TAG_class_type:
            add_tag(Kind::Struct);
            if (depth < max_namespaces) // nested types, which C compilers emit too
                index_entries(die, cxx, depth + 1);
            break;
        case DW_TAG_union_type:
            add_tag(Kind::Union);
            if (depth < max_namespaces)
                index_entries(die, cxx, depth + 1);
            break;
        case DW_TAG_enumeration_type:
            add_tag(Kind::Enum);
            // An enumerator's entry in the index refers to the enumeration, because the
            // enumeration's type determines the sign of the values.
            for_children(die, [&](Dwarf_Die* child) {
                if (dwarf_tag(child) == DW_TAG_enumerator)
                    add(DebugIndexKey::enumerator, child, depth, die);
                return may_walk(1);
            });
            break;
        case DW_TAG_variable: {
            // An entry with a location takes precedence over a declaration. A variable
            // with neither was optimised away.
            bool placed = dwarf_hasattr(die, DW_AT_location) != 0;
            if (placed || dwarf_hasattr(die, DW_AT_declaration) != 0)
                add(DebugIndexKey::variable, die, placed ? depth : max_namespaces + 1);
            break;
        }
        case DW_TAG_namespace:
        case DW_TAG_module:
            if (depth < max_namespaces)
                index_entries(die, cxx, depth + 1);
            break;
        default:
            break;
        }
        return true;
    });
}

void DwarfTypes::State::build_index()
{
    if (indexed)
        return;
    indexed = true;
    auto index_unit = [this](Dwarf_Die* unit) {
        index_entries(unit, names_its_tags(unit), 0);
    };
    for_units(dwarf.get(), index_unit);
    if (Dwarf* shared = dwarf_getalt(dwarf.get()); shared != nullptr)
        for_units(shared, index_unit);
}

std::optional<DebugRef> DwarfTypes::find(Kind kind, std::string_view name)
{
    state_->build_index();
    auto found = state_->index.find({static_cast<int>(kind), name});
    if (found == state_->index.end())
        return std::nullopt;
    return state_->ref(found->second.die);
}

static std::optional<std::uint64_t> address_of(Dwarf_Die* variable)
{
    Dwarf_Attribute location, indexed;
    Dwarf_Op* ops = nullptr;
    std::size_t n_ops = 0;
    Dwarf_Addr addr = 0;
    if (dwarf_attr_integrate(variable, DW_AT_location, &location) == nullptr ||
        dwarf_getlocation(&location, &ops, &n_ops) != 0 || n_ops != 1)
        return std::nullopt;
    if (ops[0].atom == DW_OP_addr)
        return ops[0].number;
    if ((ops[0].atom == DW_OP_addrx || ops[0].atom == DW_OP_GNU_addr_index) &&
        dwarf_getlocation_attr(&location, ops, &indexed) == 0 &&
        dwarf_formaddr(&indexed, &addr) == 0)
        return addr;
    return std::nullopt;
}

std::optional<DebugVariable> DwarfTypes::find_variable(std::string_view name)
{
    state_->build_index();
    auto found = state_->index.find({DebugIndexKey::variable, name});
    if (found == state_->index.end())
        return std::nullopt;
    Dwarf_Die* die = &found->second.die;
    DebugVariable variable{state_->type_of(die), std::nullopt};
    if (variable.type == 0)
        return std::nullopt;
    variable.addr = address_of(die);
    return variable;
}

std::optional<std::int64_t> DwarfTypes::find_enumerator(std::string_view name)
{
    state_->build_index();
    auto found = state_->index.find({DebugIndexKey::enumerator, name});
    if (found == state_->index.end())
        return std::nullopt;
    for (const auto& [known, value] : type(state_->ref(found->second.die)).enumerators)
        if (known == name)
            return value;
    return std::nullopt;
}

std::vector<std::string_view> DwarfTypes::names(Kind kind)
{
    state_->build_index();
    std::vector<std::string_view> all;
    for (const auto& [key, entry] : state_->index)
        if (key.kind == static_cast<int>(kind))
            all.push_back(key.name);
    return all;
}

} // namespace dt
