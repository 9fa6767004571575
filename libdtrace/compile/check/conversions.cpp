// SPDX-License-Identifier: MIT
// C's conversions of integers, and D's rules for strings. These functions do not change
// the tree. A pointer and an integer are compatible if one of them is the constant 0 or
// NULL. A parameter of type uintptr_t also accepts a pointer.
#include "libdtrace/compile/check/conversions.hpp"

namespace dt {

namespace {

constexpr std::uint64_t int_bytes = 4;

const Type* wider(const Type* a, const Type* b)
{
    const Type* ra = a->resolve();
    const Type* rb = b->resolve();
    if (ra->size != rb->size)
        return ra->size > rb->size ? a : b;
    return ra->is_signed && !rb->is_signed ? b : a;
}

const Type* without_const(const Type* type)
{
    return type->resolve();
}

} // namespace

const Type* promoted(const Node& node, TypeTable& types)
{
    const Type* type = node.type->resolve();
    if (type->kind == TypeKind::Enum)
        return type->is_signed ? types.int_type() : types.lookup("unsigned int");
    if (type->size < int_bytes)
        return types.int_type();
    if (node.bitfield && node.bitfield_bits < int_bytes * 8)
        return types.int_type();
    return node.type;
}

const Type* usual_conversion(const Node& left, const Node& right, TypeTable& types)
{
    return wider(promoted(left, types), promoted(right, types));
}

bool wraps_below_64(const Type* type)
{
    const Type* r = type->resolve();
    return r->kind == TypeKind::Integer && !r->is_signed && !r->is_bool &&
           r->size == int_bytes;
}

bool is_void(const Type* type)
{
    return type->resolve()->kind == TypeKind::Void;
}

bool is_dynamic(const Type* type)
{
    return type->resolve()->kind == TypeKind::Dynamic;
}

bool is_array(const Type* type)
{
    return type->resolve()->kind == TypeKind::Array;
}

bool is_incomplete(const Type* type)
{
    const Type* r = type->resolve();
    return r->is_struct_or_union() && !r->complete;
}

bool is_void_pointer(const Type* type)
{
    const Type* r = type->resolve();
    return r->kind == TypeKind::Pointer && is_void(r->base);
}

bool is_function_pointer(const Type* type)
{
    const Type* r = type->resolve();
    return r->kind == TypeKind::Pointer &&
           r->base->resolve()->kind == TypeKind::Function;
}

bool is_userland(const Type* type)
{
    for (; type; type = type->base) {
        // In an array of pointers, the userland mark describes the pointers and not the
        // array.
        if (type->kind == TypeKind::Array && type->base->is_pointer())
            return false;
        if (type->userland)
            return true;
        bool leads_on = type->kind == TypeKind::Typedef ||
                        type->kind == TypeKind::Pointer ||
                        type->kind == TypeKind::Array;
        if (!leads_on)
            break;
    }
    return false;
}

const Type* pointee(const Type* type)
{
    const Type* r = type->resolve();
    bool points = r->kind == TypeKind::Pointer || r->kind == TypeKind::Array;
    return points ? r->base : nullptr;
}

std::uint64_t step_of(const Type* pointer)
{
    const Type* base = pointee(pointer)->resolve();
    return base->size == 0 ? 1 : base->size;
}

bool is_null_constant(const Node& node)
{
    return node.is_constant && node.value == 0;
}

bool same_type(const Type* a, const Type* b)
{
    a = without_const(a);
    b = without_const(b);
    if (a == b)
        return true;
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case TypeKind::Pointer:
        return same_type(a->base, b->base);
    case TypeKind::Array:
        return a->count == b->count && same_type(a->base, b->base);
    case TypeKind::Integer:
        return a->size == b->size && a->is_signed == b->is_signed;
    case TypeKind::Struct:
    case TypeKind::Union:
    case TypeKind::Enum:
        return !a->name.empty() && a->name == b->name;
    default:
        return a->name == b->name;
    }
}

bool pointers_compatible(const Type* a, const Type* b)
{
    const Type* pa = pointee(a);
    const Type* pb = pointee(b);
    if (!pa || !pb)
        return false;
    if (is_void(pa) || is_void(pb))
        return true;
    const Type* ra = pa->resolve();
    const Type* rb = pb->resolve();
    if (ra->is_integer() && rb->is_integer())
        return ra->size == rb->size; // the signedness of the pointees does not matter
    if (pointee(ra) && pointee(rb))
        return pointers_compatible(ra, rb);
    return same_type(ra, rb);
}

bool accepts(const Type* parameter, const Node& argument)
{
    const Type* p = parameter->resolve();
    const Type* a = argument.type->resolve();
    if (p->is_integer() &&
        (a->is_integer() || (a->is_pointer() && is_null_constant(argument))))
        return true;
    if (p->is_float())
        return a->is_arithmetic();
    if (p->is_string_compatible() && a->is_string_compatible())
        return true;
    if (p->kind == TypeKind::Stack || p->kind == TypeKind::SymAddr ||
        p->kind == TypeKind::UsymAddr || p->is_struct_or_union())
        return same_type(p, a);
    if ((p->is_pointer() || p->is_string()) && is_null_constant(argument) &&
        (a->is_pointer() || p->is_pointer()))
        return true;
    // An unsigned integer of eight bytes, such as uintptr_t, accepts a pointer.
    if (p->kind == TypeKind::Integer && p->size == 8 && !p->is_signed)
        return pointee(a) != nullptr;
    // A void * parameter also accepts the address of a string.
    if (is_void_pointer(p) && a->is_string())
        return true;
    return pointers_compatible(p, a);
}

bool assignable(const Type* target, const Node& value)
{
    const Type* t = target->resolve();
    const Type* v = value.type->resolve();
    if (t->is_float() || v->is_float())
        return t->is_arithmetic() && v->is_arithmetic();
    if (t->is_integer())
        return v->is_integer() || (v->is_pointer() && is_null_constant(value));
    if (t->kind == TypeKind::Array && !t->is_string_compatible())
        return same_type(t, v);
    return accepts(t, value);
}

bool is_key_type(const Type* type)
{
    return type->is_scalar() ? !type->is_float() : type->is_string_compatible();
}

std::string quoted(const Type* type)
{
    return "\"" + type_text(type) + "\"";
}

std::string node_type_text(const Node& node)
{
    if (node.kind == NodeKind::Aggregate)
        return "aggregation";
    return type_text(node.type);
}

} // namespace dt
