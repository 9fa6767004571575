// SPDX-License-Identifier: MIT
#include "libdtrace/compile/target_types.hpp"

#include <algorithm>
#include <climits>

namespace dt {

// Of types in types, which only data that lies exceeds; then it is void.
static constexpr int max_depth = 100;

const Type* TargetTypes::type(DebugTypes& from, DebugRef ref)
{
    const Type* made = make(from, ref, 0);
    complete(made);
    return made;
}

const Type* TargetTypes::make(DebugTypes& from, DebugRef ref, int depth)
{
    if (ref == 0 || depth > max_depth)
        return types_.void_type();
    auto& made = made_[&from];
    if (auto known = made.find(ref); known != made.end())
        return known->second;
    using Kind = DebugType::Kind;
    const DebugType described = from.type(ref);
    auto base = [&] { return make(from, described.base, depth + 1); };
    const Type* type = nullptr;
    switch (described.kind) {
    case Kind::Void:
        type = types_.void_type();
        break;
    case Kind::Integer:
    case Kind::Bool:
    case Kind::Character:
    case Kind::Float:
        type = make_scalar(described);
        break;
    case Kind::Opaque:
        type = make_opaque(described);
        break;
    case Kind::Pointer:
        type = types_.pointer_to(base(), true);
        break;
    case Kind::Array:
        type = make_array(from, described, depth);
        break;
    case Kind::Struct:
    case Kind::Union:
        type = make_tagged(from, ref, described);
        break;
    case Kind::Enum:
        type = make_enum(described);
        break;
    case Kind::Typedef:
        type = make_typedef(from, described, depth);
        break;
    case Kind::Const:
        type = types_.qualified(base(), true, false, false);
        break;
    case Kind::Volatile:
        type = types_.qualified(base(), false, true, false);
        break;
    case Kind::Function:
        type = make_function(from, described, depth);
        break;
    }
    made_[&from][ref] = type;
    return type;
}

// D's own type of the name when it is the same one.
const Type* TargetTypes::make_scalar(const DebugType& described)
{
    using Kind = DebugType::Kind;
    TypeKind kind =
        described.kind == Kind::Float ? TypeKind::Float : TypeKind::Integer;
    bool is_bool = described.kind == Kind::Bool;
    bool is_char = described.kind == Kind::Character;
    const Type* own = types_.lookup(described.name);
    if (own != nullptr && own->kind == kind && own->size == described.bytes &&
        own->is_bool == is_bool && own->is_char == is_char &&
        (kind == TypeKind::Float || is_bool || own->is_signed == described.is_signed))
        return own;
    Type* type = types_.anonymous(kind);
    type->name = described.name;
    type->size = described.bytes;
    type->align = static_cast<std::uint32_t>(described.bytes);
    type->is_signed = described.is_signed;
    type->is_bool = is_bool;
    type->is_char = is_char;
    type->complete = true;
    return type;
}

const Type* TargetTypes::make_opaque(const DebugType& described)
{
    std::uint64_t bytes = std::min<std::uint64_t>(described.bytes, INT_MAX);
    return types_.array_of(types_.lookup("unsigned char"), bytes, bytes != 0);
}

const Type* TargetTypes::make_array(DebugTypes& from, const DebugType& described,
                                    int depth)
{
    const Type* type = make(from, described.base, depth + 1);
    complete_value(type, depth + 1);
    for (auto count = described.counts.rbegin(); count != described.counts.rend();
         ++count) {
        std::uint64_t n = count->value_or(0), bytes = type->resolve()->size;
        bool fits = bytes == 0 || n <= INT_MAX / bytes;
        type = types_.array_of(type, fits ? n : 0, fits && n != 0);
    }
    return type;
}

const Type* TargetTypes::make_tagged(DebugTypes& from, DebugRef ref,
                                     const DebugType& described)
{
    bool is_union = described.kind == DebugType::Kind::Union;
    if (!described.is_complete && !described.name.empty()) {
        auto kind = is_union ? DebugTypes::Kind::Union : DebugTypes::Kind::Struct;
        if (auto whole = from.find(kind, described.name); whole && *whole != ref)
            return make(from, *whole, 0);
    }
    Type* type = types_.anonymous(is_union ? TypeKind::Union : TypeKind::Struct);
    type->name = described.name;
    type->complete = described.is_complete;
    type->passed_by_reference = described.passed_by_reference;
    type->size = std::min<std::uint64_t>(described.bytes, INT_MAX);
    if (type->complete)
        bodies_[type] = {&from, ref, type};
    return type;
}

const Type* TargetTypes::make_enum(const DebugType& described)
{
    Type* type = types_.anonymous(TypeKind::Enum);
    type->name = described.name;
    bool fits = described.bytes == 1 || described.bytes == 2 || described.bytes == 4 ||
                described.bytes == 8;
    type->size = fits ? described.bytes : 4;
    type->align = static_cast<std::uint32_t>(type->size);
    type->is_signed = described.is_signed;
    for (const auto& [name, value] : described.enumerators)
        type->enumerators.push_back({name, value});
    type->complete = true;
    return type;
}

const Type* TargetTypes::make_typedef(DebugTypes& from, const DebugType& described,
                                      int depth)
{
    const Type* base = make(from, described.base, depth + 1);
    if (described.name.empty())
        return base;
    Type* type = types_.anonymous(TypeKind::Typedef);
    type->name = described.name;
    type->base = base;
    type->resolved = base->resolve();
    type->size = base->size;
    type->align = base->align;
    type->complete = true;
    return type;
}

const Type* TargetTypes::make_function(DebugTypes& from, const DebugType& described,
                                       int depth)
{
    std::vector<const Type*> parameters;
    for (DebugRef parameter : described.parameters)
        parameters.push_back(make(from, parameter, depth + 1));
    return types_.function_of(make(from, described.base, depth + 1),
                              std::move(parameters), described.varargs);
}

void TargetTypes::complete(const Type* type)
{
    if (bodies_.empty())
        return;
    for (int depth = 0; type != nullptr && depth < max_depth; depth++) {
        bool leads_on = type->kind == TypeKind::Typedef ||
                        type->kind == TypeKind::Pointer ||
                        type->kind == TypeKind::Array;
        if (!leads_on)
            break;
        type = type->base;
    }
    complete_value(type, 0);
}

// What lies in it; not what it points to.
void TargetTypes::complete_value(const Type* type, int depth)
{
    if (type == nullptr || depth > max_depth)
        return;
    type = type->resolve();
    while (type->kind == TypeKind::Array)
        type = type->base->resolve();
    auto found = bodies_.find(type);
    if (found == bodies_.end())
        return;
    Body body = found->second;
    bodies_.erase(found);
    fill(body, depth);
}

void TargetTypes::fill(Body body, int depth)
{
    for (DebugMember& member : body.from->type(body.ref).members) {
        const Type* type = make(*body.from, member.type, 0);
        complete_value(type, depth + 1);
        body.into->align = std::max(body.into->align, type->resolve()->align);
        body.into->members.push_back(
            {std::move(member.name), type, member.offset_bits, member.bitfield_bits});
    }
}

} // namespace dt
