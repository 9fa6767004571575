// SPDX-License-Identifier: MIT
// See parser.hpp: struct, union and enum, with a tag, a body, or both.
#include "libdtrace/compile/parser.hpp"
#include "libdtrace/compile/types_layout.hpp"

#include <climits>

namespace dt {

const Type* Parser::tagged_type(Specifiers& into)
{
    Depth depth(*this);
    TypeKind kind = at(Key::Struct)  ? TypeKind::Struct
                    : at(Key::Union) ? TypeKind::Union
                                     : TypeKind::Enum;
    std::string keyword = token_.text;
    advance();
    Place place = token_.at;
    Type* type = nullptr;
    std::string name;
    if (at(Tok::Ident) || (at(Tok::Keyword) && keyword_is_member_name(token_.key))) {
        name = token_.text;
        if (name.find('`') != std::string::npos)
            return target_type(kind, keyword, name);
        advance();
        into.declares_tag = true;
        type = context_.types.declare(kind, name);
        if (at(Tok::LBrace) && place.c_header &&
            (type == nullptr || type->complete))
            if (Type* anew = context_.types.redeclare(kind, name))
                type = anew;
        if (type == nullptr)
            fail(Tag::DECL_TYPERED, place, "type redeclared: " + keyword + " " + name);
    } else if (!at(Tok::LBrace)) {
        syntax_error();
    } else {
        type = context_.types.anonymous(kind);
    }
    if (!at(Tok::LBrace))
        return type;
    if (type->complete || open_types_.contains(type))
        fail(Tag::DECL_TYPERED, place, "type redeclared: " + keyword + " " + name);
    advance();
    open_types_.insert(type);
    if (kind == TypeKind::Enum) {
        into.declares_tag = true;
        enum_body(*type);
    } else {
        struct_body(*type);
    }
    open_types_.erase(type);
    expect(Tok::RBrace);
    return type;
}

// "struct a.out`foo"
const Type* Parser::target_type(TypeKind kind, const std::string& keyword,
                                const std::string& name)
{
    auto tag = kind == TypeKind::Struct  ? TargetNames::Kind::Struct
               : kind == TypeKind::Union ? TargetNames::Kind::Union
                                         : TargetNames::Kind::Enum;
    const Type* type = context_.target.type(name, tag);
    if (type == nullptr)
        fail(Tag::TYPE_ERR, token_.at,
             "failed to resolve " + keyword + " " + name + ": Unknown type name" +
                 context_.target.why_no_type(name, tag));
    advance();
    return context_.types.qualified(type, false, false, true);
}

void Parser::struct_body(Type& into)
{
    StructLayout layout(into);
    while (!at(Tok::RBrace))
        struct_member(into, layout);
    std::unordered_set<std::string_view> names;
    for (const Member& member : into.members)
        if (!member.name.empty() && !names.insert(member.name).second)
            fail(Tag::DECL_IDRED, token_.at, "member redeclared: " + member.name);
    layout.finish();
}

void Parser::struct_member(Type& into, StructLayout& layout)
{
    Specifiers base = specifiers(Names::Member);
    if (base.storage != Storage::None || base.scope != Scope::Global)
        fail(Tag::DECL_BADCLASS, base.at,
             "storage class may not be used in a struct or union member");
    if (at(Tok::Semicolon)) {
        const Type* body = base.type; // under const and the like, but no typedef's name
        while (body->kind == TypeKind::Typedef && body->name.empty())
            body = body->base;
        bool is_body = body->kind == TypeKind::Struct || body->kind == TypeKind::Union;
        if (!is_body || !body->name.empty())
            fail(Tag::DECL_MNAME, base.at, "member declaration requires a name");
        layout.add("", whole_type(base.type, base.at, "anonymous member"));
        advance();
        return;
    }
    do {
        member_declarator(base, into, layout);
    } while (accept(Tok::Comma));
    expect(Tok::Semicolon);
}

void Parser::member_declarator(const Specifiers& base, Type& into, StructLayout& layout)
{
    Declarator member;
    member.at = token_.at;
    member.type = base.type;
    if (!at(Tok::Colon))
        member = declarator(base, Names::Member);
    if (at(Tok::Colon)) {
        advance();
        auto bits = constant_expression();
        const Type* real = member.type->resolve();
        if (!bits || *bits < 0)
            fail(Tag::DECL_BFCONST, member.at,
                 "positive integral constant expression expected as bit-field size");
        if (real->kind != TypeKind::Integer && real->kind != TypeKind::Enum)
            fail(Tag::DECL_BFTYPE, member.at,
                 "invalid type for bit-field: " + type_text(member.type));
        if (*bits > static_cast<std::int64_t>(real->size * 8) ||
            (*bits == 0 && !member.name.empty()))
            fail(Tag::DECL_BFSIZE, member.at,
                 "bit-field size " + std::to_string(*bits) + " is invalid for type " +
                     type_text(member.type));
        layout.add_bitfield(member.name, member.type,
                            static_cast<std::uint32_t>(*bits));
        return;
    }
    if (member.has_keys)
        fail(Tag::DECL_ARRSUB, member.at,
             "associative array may not be a member: " + member.name);
    const Type* real = member.type->resolve();
    bool flexible = real->kind == TypeKind::Array && !real->complete &&
                    into.kind == TypeKind::Struct;
    if (!flexible)
        whole_type(member.type, member.at, member.name);
    layout.add(member.name, member.type);
    if (layout.size_bits() > std::uint64_t{INT_MAX} * 8)
        fail(Tag::DECL_ARRBIG, member.at, "struct is too big at member " + member.name);
}

// An enum's constants are known from their own comma on.
void Parser::enum_body(Type& into)
{
    into.size = into.align = 4;
    into.is_signed = true;
    std::int64_t next = 0;
    while (!at(Tok::RBrace)) {
        if (!at(Tok::Ident))
            syntax_error();
        Place place = token_.at;
        std::string name = token_.text;
        advance();
        if (accept(Tok::Assign)) {
            auto value = constant_expression();
            if (!value)
                fail(Tag::DECL_ENCONST, place,
                     "enumerator '" + name +
                         "' must be assigned to an integral constant expression");
            next = *value;
        }
        bool fits = next >= INT_MIN && next <= (place.c_header ? UINT_MAX : INT_MAX);
        if (!fits)
            fail(Tag::DECL_ENOFLOW, place,
                 "enumerator value overflows INT_MAX: " + name);
        const Type* in = nullptr;
        const Enumerator* before = context_.types.find_enumerator(name, in);
        // Another program has included the header, too.
        if (before != nullptr && before->value == next && place.c_header &&
            !context_.types.is_fresh(in))
            before = nullptr;
        if (!enumerators_.emplace(name, next).second || before != nullptr)
            fail(Tag::DECL_IDRED, place, "identifier redeclared: " + name);
        if (next > INT_MAX)
            into.is_signed = false;
        into.enumerators.push_back({name, next++});
        if (!accept(Tok::Comma))
            break;
    }
    if (into.enumerators.empty())
        syntax_error();
    into.complete = true;
    context_.types.add_enumerator_scope(&into);
}

} // namespace dt
