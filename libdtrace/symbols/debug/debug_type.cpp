// SPDX-License-Identifier: MIT
// Reads an entry of DWARF as a DebugType; see the DWARF 5 standard, chapter 5.
#include "libdtrace/symbols/debug/debug_types_state.hpp"

namespace dt {

// Returns a member's offset in bytes. Up to DWARF 4, the offset may be an expression.
static std::uint64_t member_bytes(Dwarf_Die* die)
{
    if (auto plain = number(die, DW_AT_data_member_location))
        return *plain;
    Dwarf_Attribute found;
    Dwarf_Op* ops = nullptr;
    std::size_t n_ops = 0;
    if (dwarf_attr_integrate(die, DW_AT_data_member_location, &found) != nullptr &&
        dwarf_getlocation(&found, &ops, &n_ops) == 0 && n_ops == 1 &&
        ops[0].atom == DW_OP_plus_uconst)
        return ops[0].number;
    return 0;
}

static void fill_opaque(std::uint64_t encoding, DebugType& into)
{
    const bool is_complex =
        encoding == DW_ATE_complex_float || encoding == DW_ATE_imaginary_float;
    const bool is_float = encoding == DW_ATE_float || encoding == DW_ATE_decimal_float;
    into.align = is_complex ? into.bytes / 2 : into.bytes;
    into.passing = Passing::IntegerWords;
    if (is_float || (is_complex && into.bytes <= 8))
        into.passing = Passing::FloatRegister;
    else if (is_complex && into.bytes == 16)
        into.passing = Passing::FloatWords;
    else if (is_complex && into.name.find("128") == std::string::npos)
        into.passing = Passing::X87;
}

void DwarfTypes::State::fill_base(Dwarf_Die* die, DebugType& into)
{
    using Kind = DebugType::Kind;
    const std::uint64_t encoding = number(die, DW_AT_encoding).value_or(0);
    switch (encoding) {
    case DW_ATE_boolean:
        into.kind = Kind::Bool;
        break;
    case DW_ATE_signed:
        into.kind = Kind::Integer;
        into.is_signed = true;
        break;
    case DW_ATE_address:
    case DW_ATE_unsigned:
        into.kind = Kind::Integer;
        break;
    case DW_ATE_signed_char:
        into.kind = Kind::Character;
        into.is_signed = true;
        break;
    case DW_ATE_unsigned_char:
        into.kind = Kind::Character;
        break;
    case DW_ATE_UTF:
        into.kind = into.bytes == 1 ? Kind::Character : Kind::Integer;
        break;
    case DW_ATE_float:
        into.kind = Kind::Float;
        break;
    default:
        into.kind = Kind::Opaque;
        break;
    }
    bool fits =
        into.kind == Kind::Float
            ? into.bytes == 4 || into.bytes == 8 || into.bytes == 16
            : into.bytes == 1 || into.bytes == 2 || into.bytes == 4 || into.bytes == 8;
    if (!fits || into.name.starts_with("_Float128") || into.name == "__float128")
        into.kind = Kind::Opaque;
    if (into.kind == Kind::Opaque)
        fill_opaque(encoding, into);
}

static std::vector<std::optional<std::uint64_t>> dimensions_of(Dwarf_Die* die)
{
    std::vector<std::optional<std::uint64_t>> counts;
    for_children(die, [&](Dwarf_Die* child) {
        if (dwarf_tag(child) == DW_TAG_subrange_type) {
            auto count = number(child, DW_AT_count);
            if (!count) {
                count = number(child, DW_AT_upper_bound);
                // Some compilers encode a missing upper bound as an unsigned number
                // with all bits set.
                if (count && static_cast<std::uint32_t>(*count) == UINT32_MAX)
                    count = std::nullopt;
                else if (count)
                    ++*count;
            }
            counts.push_back(count);
        } else if (dwarf_tag(child) == DW_TAG_enumeration_type) {
            counts.emplace_back(std::nullopt);
        }
        return counts.size() < max_debug_members;
    });
    if (counts.empty())
        counts.emplace_back(std::nullopt);
    return counts;
}

// Makes a vector opaque, because D cannot use its elements. If the vector has more than
// 16 bytes, the compiler's flags determine how it is passed.
void DwarfTypes::State::fill_vector(Dwarf_Die* die, DebugType& into)
{
    Dwarf_Die element;
    std::uint64_t bytes = into.bytes;
    if (bytes == 0 && into.counts.size() == 1 && plain_type(die, element))
        bytes = into.counts.front().value_or(0) *
                number(&element, DW_AT_byte_size).value_or(0);
    into = {};
    into.kind = DebugType::Kind::Opaque;
    into.bytes = into.align = bytes;
    into.passing =
        bytes == 8 || bytes == 16 ? Passing::FloatRegister : Passing::Unknown;
}

bool DwarfTypes::State::member(Dwarf_Die* die, DebugType& into)
{
    DebugMember member;
    member.name = name_of(die);
    member.type = type_of(die);
    auto bits = number(die, DW_AT_bit_size);
    member.bitfield_bits = static_cast<std::uint32_t>(bits.value_or(0));
    member.offset_bits = member_bytes(die) * 8;
    if (auto offset = number(die, DW_AT_data_bit_offset)) {
        member.offset_bits = *offset;
    } else if (auto from_the_left = number(die, DW_AT_bit_offset);
               from_the_left && bits) {
        // DW_AT_bit_offset (DWARF 2) counts from the most significant bit of the unit.
        std::uint64_t unit_bytes = 0;
        Dwarf_Die type;
        if (auto bytes = number(die, DW_AT_byte_size))
            unit_bytes = *bytes;
        else if (plain_type(die, type))
            unit_bytes = number(&type, DW_AT_byte_size).value_or(0);
        member.offset_bits += unit_bytes * 8 - *from_the_left - *bits;
    }
    into.members.push_back(std::move(member));
    return may_add_to(into.members.size());
}

void DwarfTypes::State::fill_members(Dwarf_Die* die, DebugType& into)
{
    for_children(die, [&](Dwarf_Die* child) {
        switch (dwarf_tag(child)) {
        case DW_TAG_member:
            // A static member is not part of the object.
            if (has(child, DW_AT_external) || has(child, DW_AT_const_value))
                return true;
            return member(child, into);
        case DW_TAG_inheritance: {
            Dwarf_Attribute location;
            bool is_virtual = number(child, DW_AT_virtuality).value_or(0) != 0;
            if (is_virtual ||
                dwarf_attr(child, DW_AT_data_member_location, &location) == nullptr)
                return true; // the offset of a virtual base depends on the object
            bool more = member(child, into);
            into.members.back().name.clear();
            return more;
        }
        default:
            return true;
        }
    });
}

void DwarfTypes::State::fill_enumerators(Dwarf_Die* die, DebugType& into)
{
    Dwarf_Die underlying;
    bool has_type = plain_type(die, underlying);
    auto encoding = has_type ? number(&underlying, DW_AT_encoding) : std::nullopt;
    into.is_signed =
        !encoding || *encoding == DW_ATE_signed || *encoding == DW_ATE_signed_char;
    if (into.bytes == 0 && has_type)
        into.bytes = number(&underlying, DW_AT_byte_size).value_or(0);
    for_children(die, [&](Dwarf_Die* child) {
        Dwarf_Attribute found;
        if (dwarf_tag(child) != DW_TAG_enumerator ||
            dwarf_attr(child, DW_AT_const_value, &found) == nullptr)
            return true;
        // The encoding does not show whether a value is signed, so the enumeration's
        // type determines it.
        Dwarf_Sword value = 0;
        Dwarf_Word word = 0;
        if (into.is_signed ? dwarf_formsdata(&found, &value) == 0
                           : dwarf_formudata(&found, &word) == 0)
            into.enumerators.emplace_back(
                name_of(child),
                into.is_signed ? value : static_cast<std::int64_t>(word));
        return may_add_to(into.enumerators.size());
    });
}

void DwarfTypes::State::fill_function(Dwarf_Die* die, DebugType& into)
{
    into.base = type_of(die);
    for_children(die, [&](Dwarf_Die* child) {
        if (dwarf_tag(child) == DW_TAG_formal_parameter)
            into.parameters.push_back(type_of(child));
        if (dwarf_tag(child) == DW_TAG_unspecified_parameters)
            into.varargs = true;
        return may_add_to(into.parameters.size());
    });
}

DebugType DwarfTypes::type(DebugRef ref)
{
    using Kind = DebugType::Kind;
    State& state = *state_;
    DebugType out;
    if (ref == 0 || ref > state.entries.size())
        return out;
    Dwarf_Die die = state.entries[ref - 1], target;
    out.name = name_of(&die);
    out.bytes = number(&die, DW_AT_byte_size).value_or(0);
    out.align = number(&die, DW_AT_alignment).value_or(0);
    auto refer = [&](Kind kind) {
        out.kind = kind;
        out.base = state.type_of(&die);
    };
    switch (dwarf_tag(&die)) {
    case DW_TAG_base_type:
        state.fill_base(&die, out);
        break;
    case DW_TAG_unspecified_type:
        if (out.name.find("nullptr") != std::string::npos) {
            out.kind = Kind::Pointer;
            out.bytes = 8;
        }
        break;
    case DW_TAG_pointer_type:
    case DW_TAG_reference_type:
    case DW_TAG_rvalue_reference_type:
        refer(Kind::Pointer);
        out.bytes = 8;
        break;
    case DW_TAG_ptr_to_member_type:
        out.kind = Kind::Opaque;
        out.passing = Passing::IntegerWords;
        out.align = 8;
        // A pointer to a member function also contains an adjustment of `this`.
        if (out.bytes == 0)
            out.bytes =
                plain_type(&die, target) && dwarf_tag(&target) == DW_TAG_subroutine_type
                    ? 16
                    : 8;
        break;
    case DW_TAG_array_type:
        refer(Kind::Array);
        out.counts = dimensions_of(&die);
        if (has(&die, DW_AT_GNU_vector))
            state.fill_vector(&die, out);
        break;
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
        out.kind = dwarf_tag(&die) == DW_TAG_union_type ? Kind::Union : Kind::Struct;
        out.is_complete = dwarf_hasattr(&die, DW_AT_declaration) == 0;
        // Rust does not define how it passes structures.
        out.passing = language_of(&die) == DW_LANG_Rust ? Passing::Unknown
                                                        : state.class_passing(&die);
        state.fill_members(&die, out);
        break;
    case DW_TAG_enumeration_type:
        out.kind = Kind::Enum;
        out.is_complete = dwarf_hasattr(&die, DW_AT_declaration) == 0;
        state.fill_enumerators(&die, out);
        break;
    case DW_TAG_typedef:
    case DW_TAG_template_alias:
        refer(Kind::Typedef);
        break;
    case DW_TAG_const_type:
        refer(Kind::Const);
        break;
    case DW_TAG_volatile_type:
        refer(Kind::Volatile);
        break;
    case DW_TAG_restrict_type:
    case DW_TAG_atomic_type:
    case DW_TAG_immutable_type:
    case DW_TAG_packed_type:
    case DW_TAG_shared_type:
    case DW_TAG_subrange_type:
        refer(Kind::Typedef); // a typedef without a name means its base type
        out.name.clear();
        break;
    case DW_TAG_subroutine_type:
        out.kind = Kind::Function;
        state.fill_function(&die, out);
        break;
    default:
        out.kind = Kind::Opaque;
        break;
    }
    return out;
}

} // namespace dt
