// SPDX-License-Identifier: MIT
// Parses a struct, union or enum with a tag, a body, or both (see parser.hpp). The
// layout is computed last, because an __attribute__ after the body can change it.
#include "libdtrace/compile/parse/parser.hpp"
#include "libdtrace/compile/types/types_layout.hpp"

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
    CAttributes attributes;
    c_extras(attributes);
    Place place = token_.at;
    Type* type = nullptr;
    std::string name;
    if (at(Tok::Ident) || (at(Tok::Keyword) && keyword_is_member_name(token_.key))) {
        name = token_.text;
        if (name.find('`') != std::string::npos)
            return target_type(kind, keyword, name);
        if (const Type* of_kernel = kernel_tag(kind, keyword)) {
            advance();
            return of_kernel;
        }
        advance();
        into.declares_tag = true;
        type = context_.types.declare(kind, name);
        if (at(Tok::LBrace) && place.c_header && (type == nullptr || type->complete))
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
    const bool is_open = open_types_.contains(type);
    const Type* before = type->complete && !is_open && place.c_header ? type : nullptr;
    if ((type->complete || is_open) && before == nullptr)
        fail(Tag::DECL_TYPERED, place, "type redeclared: " + keyword + " " + name);
    if (before != nullptr) {
        type = context_.types.anonymous(kind);
        type->name = name;
    }
    into.declares_tag = into.declares_tag || kind == TypeKind::Enum;
    open_types_.insert(type);
    body(*type, attributes);
    open_types_.erase(type);
    if (before == nullptr)
        return type;
    if (!has_same_body(*before, *type))
        fail(Tag::DECL_TYPERED, place, "type redeclared: " + keyword + " " + name);
    return before;
}

// Reads the members up to the closing brace, and the attributes after it.
void Parser::body(Type& into, CAttributes& attributes)
{
    const Place place = token_.at;
    advance();
    if (into.kind == TypeKind::Enum) {
        enum_body(into);
        expect(Tok::RBrace);
        c_extras(attributes);
        finish_enum(into, attributes, place.c_header);
        return;
    }
    std::vector<MemberLine> lines = struct_body(into);
    const std::uint32_t limit = pragmas_.packing().limit();
    expect(Tok::RBrace);
    c_extras(attributes);
    lay_out(into, lines, attributes, limit);
    if (into.size > INT_MAX)
        fail(Tag::DECL_ARRBIG, place, type_text(&into) + " is too big");
}

// Returns the type that a tag with a scope denotes, such as "struct a.out`foo".
const Type* Parser::target_type(TypeKind kind, const std::string& keyword,
                                const std::string& name)
{
    // a tag that the D program defines cannot have a scope
    if (peek().kind == Tok::LBrace)
        syntax_error();
    if (name.starts_with(own_scope)) {
        const Type* own =
            context_.types.lookup(keyword + " " + name.substr(own_scope.size()));
        if (own == nullptr)
            fail(Tag::TYPE_ERR, token_.at,
                 "failed to resolve " + keyword + " " + name + ": Unknown type name");
        advance();
        return own;
    }
    auto tag = kind == TypeKind::Struct  ? TargetNames::Kind::Struct
               : kind == TypeKind::Union ? TargetNames::Kind::Union
                                         : TargetNames::Kind::Enum;
    const Type* type = context_.target.type(name, tag);
    if (type == nullptr)
        fail(Tag::TYPE_ERR, token_.at,
             "failed to resolve " + keyword + " " + name + ": Unknown type name" +
                 context_.target.why_no_type(name, tag));
    advance();
    return type;
}

std::vector<Parser::MemberLine> Parser::struct_body(const Type& into)
{
    std::vector<MemberLine> lines;
    while (!at(Tok::RBrace))
        struct_member(into, lines);
    std::unordered_set<std::string_view> names;
    for (const MemberLine& line : lines)
        if (!line.name.empty() && !names.insert(line.name).second)
            fail(Tag::DECL_IDRED, token_.at, "member redeclared: " + line.name);
    return lines;
}

void Parser::lay_out(Type& into, std::vector<MemberLine>& lines,
                     const CAttributes& attributes, std::uint32_t limit) const
{
    StructLayout layout(into, limit);
    for (MemberLine& line : lines) {
        MemberPlacing placing{line.attributes.align,
                              attributes.packed || line.attributes.packed};
        std::string name = line.name;
        if (line.bits)
            layout.add_bitfield(std::move(line.name), line.type, *line.bits, placing);
        else
            layout.add(std::move(line.name), line.type, placing);
        if (layout.size_bits() > std::uint64_t{INT_MAX} * 8)
            fail(Tag::DECL_ARRBIG, line.at,
                 "struct or union is too big at member " + name);
    }
    layout.finish(attributes.align);
}

void Parser::struct_member(const Type& into, std::vector<MemberLine>& lines)
{
    if (token_.at.c_header && accept(Tok::Semicolon))
        return;
    if (at(CWord::StaticAssert)) {
        advance();
        if (!at(Tok::LParen))
            syntax_error();
        skip_brackets();
        return expect(Tok::Semicolon);
    }
    Specifiers base = specifiers(Names::Member);
    if (base.storage != Storage::None || base.scope != Scope::Global)
        fail(Tag::DECL_BADCLASS, base.at,
             "storage class may not be used in a struct or union member");
    if (at(Tok::Semicolon)) {
        // Remove the qualifiers, which are typedefs without a name. A typedef with a
        // name does not declare an anonymous member, even if it names a struct.
        const Type* body = base.type;
        while (body->kind == TypeKind::Typedef && body->name.empty())
            body = body->base;
        bool is_body = body->kind == TypeKind::Struct || body->kind == TypeKind::Union;
        if (is_body && body->name.empty())
            lines.push_back({"", base.at,
                             whole_type(base.type, base.at, "anonymous member"),
                             std::nullopt, base.attributes});
        else if (!base.at.c_header) // a header may omit the name: "enum e { A };"
            fail(Tag::DECL_MNAME, base.at, "member declaration requires a name");
        advance();
        return;
    }
    do {
        member_declarator(base, into, lines);
    } while (accept(Tok::Comma));
    expect(Tok::Semicolon);
}

void Parser::member_declarator(const Specifiers& base, const Type& into,
                               std::vector<MemberLine>& lines)
{
    Declarator member;
    member.at = token_.at;
    member.type = base.type;
    member.attributes = base.attributes;
    if (!at(Tok::Colon))
        member = declarator(base, Names::Member);
    MemberLine line{std::move(member.name), member.at, member.type, std::nullopt,
                    std::move(member.attributes)};
    if (at(Tok::Colon)) {
        bit_field(line);
        lines.push_back(std::move(line));
        return;
    }
    if (member.has_keys)
        fail(Tag::DECL_ARRSUB, line.at,
             "associative array may not be a member: " + line.name);
    const Type* real = line.type->resolve();
    bool flexible = real->kind == TypeKind::Array && !real->complete &&
                    (into.kind == TypeKind::Struct || line.at.c_header);
    if (!flexible)
        whole_type(line.type, line.at, line.name);
    lines.push_back(std::move(line));
}

// Reads the width of a bit-field, ": 4".
void Parser::bit_field(MemberLine& line)
{
    advance();
    auto bits = constant_expression();
    const Type* real = line.type->resolve();
    if (!bits || *bits < 0 || (*bits == 0 && !line.name.empty()))
        fail(Tag::DECL_BFCONST, line.at,
             "positive integral constant expression expected as bit-field size");
    if (real->kind != TypeKind::Integer && real->kind != TypeKind::Enum)
        fail(Tag::DECL_BFTYPE, line.at,
             "invalid type for bit-field: " + type_text(line.type));
    if (*bits > static_cast<std::int64_t>(real->size * 8))
        fail(Tag::DECL_BFSIZE, line.at,
             "bit-field size " + std::to_string(*bits) + " is invalid for type " +
                 type_text(line.type));
    line.bits = static_cast<std::uint32_t>(*bits);
    c_extras(line.attributes);
}

} // namespace dt
