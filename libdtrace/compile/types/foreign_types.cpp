// SPDX-License-Identifier: MIT
#include "libdtrace/compile/types/foreign_types.hpp"

namespace dt {

static constexpr int max_foreign_depth = 100; // types nested more deeply become void

const Type* ForeignTypes::type(const Type* of,
                               const std::shared_ptr<const TypeTable>& owner)
{
    if (owner.get() == &types_)
        return of;
    owners_.insert(owner);
    const Type* made = make(of, 0);
    while (!to_fill_.empty()) {
        auto [from, into] = to_fill_.back();
        to_fill_.pop_back();
        for (const Member& member : from->members)
            into->members.push_back({member.name, make(member.type, 0),
                                     member.offset_bits, member.bitfield_bits});
    }
    return made;
}

// Returns the session's complete type with this name and kind, or null. Returns null
// for a predefined type that differs from `of`.
const Type* ForeignTypes::declared(const std::string& name, const Type* of) const
{
    const Type* there = types_.lookup(name);
    if (there == nullptr || there->kind != of->kind || !there->resolve()->complete)
        return nullptr;
    bool predefined = there == types_.lookup_original(name);
    const Type *a = there->resolve(), *b = of->resolve();
    bool same = a->kind == b->kind && a->size == b->size;
    return predefined && !same ? nullptr : there;
}

const Type* ForeignTypes::make(const Type* of, int depth)
{
    if (depth > max_foreign_depth)
        return types_.void_type();
    switch (of->kind) {
    case TypeKind::Integer:
    case TypeKind::Float:
        if (const Type* own = types_.lookup_original(of->name);
            own != nullptr && own->kind == of->kind && own->size == of->size)
            return own;
        return types_.void_type();
    case TypeKind::Pointer:
        return types_.pointer_to(make(of->base, depth + 1), true);
    case TypeKind::Array:
        return types_.array_of(make(of->base, depth + 1), of->count, of->complete);
    case TypeKind::Function: {
        std::vector<const Type*> parameters;
        for (const Type* parameter : of->parameters)
            parameters.push_back(make(parameter, depth + 1));
        return types_.function_of(make(of->base, depth + 1), std::move(parameters),
                                  of->varargs);
    }
    case TypeKind::Struct:
    case TypeKind::Union:
    case TypeKind::Enum:
        return make_tagged(of);
    case TypeKind::Typedef:
        return make_typedef(of, depth);
    case TypeKind::String:
        return types_.string_type();
    default:
        return types_.void_type();
    }
}

const Type* ForeignTypes::make_tagged(const Type* of)
{
    const char* keyword = of->kind == TypeKind::Struct  ? "struct "
                          : of->kind == TypeKind::Union ? "union "
                                                        : "enum ";
    if (!of->name.empty())
        if (const Type* own = declared(keyword + of->name, of))
            return own;
    auto [known, is_new] = made_.try_emplace(of);
    if (!is_new)
        return known->second;
    Type* type = known->second = types_.anonymous(of->kind);
    type->name = of->name;
    type->size = of->size;
    type->align = of->align;
    type->is_signed = of->is_signed;
    type->passing = of->passing;
    type->enumerators = of->enumerators;
    type->complete = of->complete;
    to_fill_.emplace_back(of, type);
    return type;
}

const Type* ForeignTypes::make_typedef(const Type* of, int depth)
{
    if (of->name.empty())
        return types_.qualified(make(of->base, depth + 1), of->is_const,
                                of->is_volatile, false);
    if (const Type* own = declared(of->name, of))
        return own;
    auto known = made_.find(of);
    if (known != made_.end())
        return known->second;
    const Type* base = make(of->base, depth + 1);
    Type* type = types_.anonymous(TypeKind::Typedef);
    type->name = of->name;
    type->base = base;
    type->resolved = base->resolve();
    type->size = base->size;
    type->align = base->align;
    type->own_align = of->own_align;
    type->complete = true;
    return made_[of] = type;
}

} // namespace dt
