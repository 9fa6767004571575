// SPDX-License-Identifier: MIT
// Predicates on types. They ignore typedefs.
#include "libdtrace/compile/types/types.hpp"

namespace dt {

const Type* Type::resolve() const
{
    const Type* type = this;
    while (type->kind == TypeKind::Typedef && type->base != nullptr)
        type = type->resolved != nullptr ? type->resolved : type->base;
    return type;
}

std::uint32_t Type::alignment() const
{
    return own_align != 0 ? own_align : resolve()->align;
}

bool Type::is_integer() const
{
    TypeKind real = resolve()->kind;
    return real == TypeKind::Integer || real == TypeKind::Enum;
}

bool Type::is_float() const
{
    return resolve()->kind == TypeKind::Float;
}

bool Type::is_arithmetic() const
{
    return is_integer() || is_float();
}

bool Type::is_pointer() const
{
    return resolve()->kind == TypeKind::Pointer;
}

bool Type::is_scalar() const
{
    return is_arithmetic() || is_pointer();
}

bool Type::is_string() const
{
    return resolve()->kind == TypeKind::String;
}

bool Type::is_string_compatible() const
{
    const Type* real = resolve();
    if (real->kind == TypeKind::String)
        return true;
    if (real->kind != TypeKind::Array && real->kind != TypeKind::Pointer)
        return false;
    return real->base->resolve()->is_char;
}

bool Type::is_struct_or_union() const
{
    TypeKind real = resolve()->kind;
    return real == TypeKind::Struct || real == TypeKind::Union;
}

bool Type::is_by_ref() const
{
    switch (resolve()->kind) {
    case TypeKind::String:
    case TypeKind::Array:
    case TypeKind::Struct:
    case TypeKind::Union:
    case TypeKind::Stack:
    case TypeKind::SymAddr:
    case TypeKind::UsymAddr:
        return true;
    default:
        return false;
    }
}

bool Type::find_member(std::string_view wanted, Member& found) const
{
    const Type* real = resolve();
    if (wanted.empty())
        return false;
    for (const Member& member : real->members) {
        if (member.name == wanted) {
            found = member;
            return true;
        }
        if (member.name.empty() && member.type->find_member(wanted, found)) {
            found.offset_bits += member.offset_bits;
            return true;
        }
    }
    return false;
}

// Compares two bodies. The recursion is no deeper than the nesting of the bodies in the
// program.
bool has_same_body(const Type& one, const Type& other)
{
    if (one.kind != other.kind || one.size != other.size || one.align != other.align ||
        one.complete != other.complete || one.members.size() != other.members.size() ||
        one.enumerators.size() != other.enumerators.size())
        return false;
    for (std::size_t i = 0; i < one.members.size(); ++i) {
        const Member &a = one.members[i], &b = other.members[i];
        if (a.name != b.name || a.offset_bits != b.offset_bits ||
            a.bitfield_bits != b.bitfield_bits || !is_same_type(*a.type, *b.type))
            return false;
    }
    for (std::size_t i = 0; i < one.enumerators.size(); ++i)
        if (one.enumerators[i].name != other.enumerators[i].name ||
            one.enumerators[i].value != other.enumerators[i].value)
            return false;
    return true;
}

bool is_same_type(const Type& one, const Type& other)
{
    const Type *a = one.resolve(), *b = other.resolve();
    if (a == b)
        return true;
    bool has_body = a->kind == TypeKind::Struct || a->kind == TypeKind::Union ||
                    a->kind == TypeKind::Enum;
    return has_body && a->name.empty() && b->name.empty() && has_same_body(*a, *b);
}

} // namespace dt
