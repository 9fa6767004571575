// SPDX-License-Identifier: MIT
#include "libdtrace/compile/types/target_types.hpp"

#include <algorithm>
#include <bit>
#include <climits>

namespace dt {

// The maximum nesting depth of a type. Only invalid debug data exceed it.
static constexpr int max_target_depth = 100;
static constexpr std::uint32_t max_types = 1 << 10, max_parts = 1 << 18;
static constexpr std::size_t max_dimensions = 32;

static const Type* element_of(const Type* type)
{
    type = type->resolve();
    while (type->kind == TypeKind::Array && type->passing == Passing::ByMembers)
        type = type->base->resolve();
    return type;
}

// Returns the alignment that the debug data declare, or 1 if it is absent or invalid.
static std::uint32_t alignment(const DebugType& described)
{
    constexpr std::uint64_t most = 4096;
    bool usable = std::has_single_bit(described.align) && described.align <= most;
    return usable ? static_cast<std::uint32_t>(described.align) : 1;
}

const Type* TargetTypes::type(DebugTypes& from, DebugRef ref)
{
    const Type* made = make(from, ref, 0);
    complete(made);
    return made;
}

const Type* TargetTypes::make(DebugTypes& from, DebugRef ref, int depth)
{
    if (ref == 0 || depth > max_target_depth)
        return types_.void_type();
    if (auto [owner, its] = from.owner(ref); owner != &from)
        return make(*owner, its, depth);
    auto& made = made_[&from];
    if (auto known = made.find(ref); known != made.end())
        return known->second;
    // Until the type has been made, void takes its place in types that refer to it.
    made[ref] = types_.void_type();
    const Type* type = make_described(from, ref, from.type(ref), depth);
    if (!measure(type))
        type = types_.void_type();
    made_[&from][ref] = type;
    return type;
}

const Type* TargetTypes::make_described(DebugTypes& from, DebugRef ref,
                                        const DebugType& described, int depth)
{
    using Kind = DebugType::Kind;
    auto base = [&] { return make(from, described.base, depth + 1); };
    switch (described.kind) {
    case Kind::Void:
        break;
    case Kind::Integer:
    case Kind::Bool:
    case Kind::Character:
    case Kind::Float:
        return make_scalar(described);
    case Kind::Opaque:
        return make_opaque(described);
    case Kind::Pointer:
        return types_.pointer_to(base(), from.place() == DebugTypes::Place::Process);
    case Kind::Array:
        return make_array(from, described, depth);
    case Kind::Struct:
    case Kind::Union:
        return make_tagged(from, ref, described);
    case Kind::Enum:
        return make_enum(described);
    case Kind::Typedef:
        return make_typedef(from, described, depth);
    case Kind::Const:
        return types_.qualified(base(), true, false, false);
    case Kind::Volatile:
        return types_.qualified(base(), false, true, false);
    case Kind::Function:
        return make_function(from, described, depth);
    }
    return types_.void_type();
}

TargetTypes::Extent TargetTypes::extent(const Type* type) const
{
    auto known = extents_.find(type);
    return known != extents_.end() ? known->second : Extent{};
}

// Computes the nesting depth of a type and the number of types in it. The types to
// which it refers must have been measured before. Returns false if a limit is exceeded.
bool TargetTypes::measure(const Type* type)
{
    if (extents_.contains(type))
        return true;
    std::vector<const Type*> parts = type->parameters;
    if (type->base != nullptr)
        parts.push_back(type->base);
    Extent all;
    for (const Type* part : parts) {
        Extent one = extent(part);
        all.height = std::max(all.height, one.height + 1);
        all.n_types += one.n_types;
        if (all.height > max_target_depth || all.n_types > max_types)
            return false;
    }
    if (type->kind == TypeKind::Typedef && !type->name.empty())
        all.n_types = 1; // a typedef counts as one type
    extents_[type] = all;
    return true;
}

// Returns D's type of this name if it has the same kind, size and signedness. Otherwise
// returns a new type.
const Type* TargetTypes::make_scalar(const DebugType& described)
{
    using Kind = DebugType::Kind;
    TypeKind kind = described.kind == Kind::Float ? TypeKind::Float : TypeKind::Integer;
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
    const Type* element = types_.lookup("unsigned char");
    if (described.passing == Passing::ByMembers)
        return types_.array_of(element, bytes, bytes != 0);
    Type* type = types_.anonymous(TypeKind::Array);
    type->base = element;
    type->count = type->size = bytes;
    type->complete = bytes != 0;
    type->align = alignment(described);
    type->passing = described.passing;
    return type;
}

const Type* TargetTypes::make_array(DebugTypes& from, const DebugType& described,
                                    int depth)
{
    const Type* type = make(from, described.base, depth + 1);
    if (described.counts.size() > max_dimensions)
        return types_.void_type();
    for (auto count = described.counts.rbegin(); count != described.counts.rend();
         ++count) {
        std::uint64_t n = count->value_or(0), bytes = type->resolve()->size;
        bool fits = n <= INT_MAX / std::max<std::uint64_t>(bytes, 1);
        type = types_.array_of(type, fits ? n : 0, fits && n != 0);
        if (!measure(type))
            return types_.void_type();
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
    type->passing = type->complete ? described.passing : Passing::Unknown;
    type->size = std::min<std::uint64_t>(described.bytes, INT_MAX);
    type->align = alignment(described);
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
    type->align = std::max(base->align, alignment(described));
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
    for (int depth = 0; type != nullptr && depth < max_target_depth; depth++) {
        bool leads_on = type->kind == TypeKind::Typedef ||
                        type->kind == TypeKind::Pointer ||
                        type->kind == TypeKind::Array;
        if (!leads_on)
            break;
        type = type->base;
    }
    complete_value(type, 0);
}

// Completes a type and the types of its members, but does not follow pointers.
bool TargetTypes::complete_value(const Type* type, int depth)
{
    if (type == nullptr)
        return true;
    type = element_of(type);
    auto found = bodies_.find(type);
    if (found == bodies_.end())
        return !filling_.contains(type);
    if (depth > max_target_depth)
        return false;
    Body body = found->second;
    bodies_.erase(found);
    filling_.insert(type);
    fill(body, depth);
    filling_.erase(type);
    return true;
}

static std::uint64_t bits_of(const Member& member)
{
    return member.bitfield_bits != 0 ? member.bitfield_bits
                                     : member.type->resolve()->size * 8;
}

// Adds a member to a struct or union. Returns false for an invalid member, which is
// omitted.
bool TargetTypes::fill_member(DebugMember&& member, const Body& body, int depth)
{
    Type& whole = *body.into;
    const Type* type = make(*body.from, member.type, 0);
    const Type* real = type->resolve();
    if (real->kind == TypeKind::Void || real->kind == TypeKind::Function ||
        !complete_value(type, depth + 1))
        return false;
    std::uint64_t bits =
        member.bitfield_bits != 0 ? member.bitfield_bits : real->size * 8;
    if (member.bitfield_bits != 0 && (!real->is_integer() || bits > real->size * 8))
        return false;
    if (member.offset_bits > whole.size * 8 ||
        bits > whole.size * 8 - member.offset_bits ||
        (member.bitfield_bits == 0 && member.offset_bits % 8 != 0))
        return false;
    auto parts = n_parts_.find(element_of(real));
    std::uint32_t n = parts != n_parts_.end() ? parts->second : 1;
    if (n > max_parts - n_parts_[&whole])
        return false;
    n_parts_[&whole] += n;
    whole.members.push_back(
        {std::move(member.name), type, member.offset_bits, member.bitfield_bits});
    return true;
}

void TargetTypes::fill(Body body, int depth)
{
    DebugType described = body.from->type(body.ref);
    Type& whole = *body.into;
    std::uint32_t align = 1;
    std::uint64_t end_bits = 0;
    bool is_packed = false;
    n_parts_[&whole] = 1;
    for (DebugMember& member : described.members) {
        if (!fill_member(std::move(member), body, depth))
            continue;
        const Member& last = whole.members.back();
        std::uint32_t its = std::max(last.type->align, element_of(last.type)->align);
        align = std::max(align, its);
        end_bits = std::max(end_bits, last.offset_bits + bits_of(last));
        is_packed |= last.bitfield_bits == 0 && last.offset_bits / 8 % its != 0;
    }
    is_packed |= whole.size % align != 0;
    if (described.align == 0) // the alignment is not declared
        whole.align = is_packed ? 1 : align;
    // If the members do not yield the declared size, the debug data are incomplete. It
    // is then unknown how the type is passed to functions.
    std::uint64_t a = whole.align, end = (end_bits + 7) / 8;
    if (whole.passing == Passing::ByMembers && !whole.members.empty() &&
        (end + a - 1) / a * a != whole.size)
        whole.passing = Passing::Unknown;
}

} // namespace dt
