// SPDX-License-Identifier: MIT
// The parts of C headers that D does not have (see parser.hpp). The parser reads the
// parts that affect sizes, offsets and types. It skips function bodies, initialisers,
// asm labels and assertions.
#include "libdtrace/compile/parse/parser.hpp"
#include "libdtrace/compile/parse/specifier_words.hpp"

#include <algorithm>
#include <bit>
#include <climits>

namespace dt {

namespace {

// The alignment in bytes for __attribute__((aligned)) without a number.
constexpr std::uint32_t default_aligned = 16;
constexpr std::int64_t max_aligned = 1 << 28; // GCC's maximum alignment in bytes

// Removes the underscores around a name: "__packed__" becomes "packed".
std::string_view plain(std::string_view name)
{
    if (name.size() > 4 && name.starts_with("__") && name.ends_with("__"))
        return name.substr(2, name.size() - 4);
    return name;
}

// Returns the value as an alignment, or 0 if it is not a valid alignment.
std::uint32_t checked_alignment(std::optional<std::int64_t> value)
{
    if (!value || *value <= 0 || *value > max_aligned ||
        !std::has_single_bit(static_cast<std::uint64_t>(*value)))
        return 0;
    return static_cast<std::uint32_t>(*value);
}

// The types that __attribute__((mode(NAME))) selects.
// clang-format off
#define C_MODES(X) /* X(name, signed or float, unsigned) */ \
    X("QI", "signed char", "unsigned char") X("byte", "signed char", "unsigned char") \
    X("HI", "short", "unsigned short")      X("SI", "int", "unsigned int") \
    X("DI", "long", "unsigned long")        X("word", "long", "unsigned long") \
    X("pointer", "long", "unsigned long")   X("unwind_word", "long", "unsigned long") \
    X("TI", "__int128", "unsigned __int128") \
    X("SF", "float", "float") X("DF", "double", "double") X("XF", "long double", "long double") \
    X("TF", "_Float128", "_Float128")
// clang-format on

const char* type_of_mode(std::string_view mode, bool is_unsigned)
{
#define X(name, sign, unsign)                                                          \
    if (mode == (name))                                                                \
        return is_unsigned ? (unsign) : (sign);
    C_MODES(X)
#undef X
    return nullptr;
}

} // namespace

void Parser::CAttributes::add(const CAttributes& more)
{
    packed = packed || more.packed;
    align = std::max(align, more.align);
    if (more.vector_bytes != 0)
        vector_bytes = more.vector_bytes;
    if (!more.mode.empty())
        mode = more.mode;
}

bool Parser::is_c_word_of_type(const Token& token) const
{
    return token.c_word == CWord::Typeof || token.c_word == CWord::Atomic ||
           token.c_word == CWord::Complex || token.c_word == CWord::Int128;
}

// Skips the current token. If it is an opening bracket of any kind, skips to the token
// after the matching bracket.
void Parser::skip_brackets(Lexer::Mode after)
{
    int depth = 0;
    do {
        if (at(Tok::LBrace) || at(Tok::LParen) || at(Tok::LBracket))
            ++depth;
        else if (at(Tok::RBrace) || at(Tok::RParen) || at(Tok::RBracket))
            --depth;
        else if (at(Tok::End))
            syntax_error();
        advance(depth <= 0 ? after : Lexer::Mode::Code);
    } while (depth > 0);
}

// Skips "= {1, 2}", up to the comma or semicolon after it.
void Parser::skip_initialiser()
{
    while (!at(Tok::Comma) && !at(Tok::Semicolon)) {
        if (at(Tok::LBrace) || at(Tok::LParen) || at(Tok::LBracket))
            skip_brackets();
        else if (at(Tok::End))
            syntax_error();
        else
            advance();
    }
}

// Reads attributes and similar words, which may be between any two parts of a
// declaration.
void Parser::c_extras(CAttributes& into)
{
    for (;;) {
        if (at(CWord::Attribute)) {
            attribute_list(into);
        } else if (at(CWord::Asm)) {
            advance();
            if (at(Tok::LParen))
                skip_brackets();
        } else if (at(CWord::Extension) || at(CWord::Function)) {
            advance();
        } else if (at(Tok::LBracket) && token_.at.c_header &&
                   peek().kind == Tok::LBracket) {
            skip_brackets(); // [[deprecated]]
        } else {
            return;
        }
    }
}

// Reads __attribute__((packed, aligned(8))).
void Parser::attribute_list(CAttributes& into)
{
    advance();
    expect(Tok::LParen);
    expect(Tok::LParen);
    while (!at(Tok::RParen)) {
        if (!accept(Tok::Comma))
            attribute(into);
    }
    advance();
    expect(Tok::RParen);
}

void Parser::attribute(CAttributes& into)
{
    if (!at(Tok::Ident) && !at(Tok::Keyword))
        syntax_error();
    std::string text = token_.text;
    std::string_view name = plain(text);
    advance();
    const bool has_operand = at(Tok::LParen);
    if (name == "packed") {
        into.packed = true;
    } else if (name == "aligned" && !has_operand) {
        into.align = std::max(into.align, default_aligned);
    } else if (has_operand && (name == "aligned" || name == "vector_size")) {
        advance();
        auto value = constant_expression();
        if (name == "aligned")
            into.align = std::max(into.align, checked_alignment(value));
        else if (value && *value > 0 && *value <= INT_MAX)
            into.vector_bytes = static_cast<std::uint64_t>(*value);
        return expect(Tok::RParen);
    } else if (name == "mode" && has_operand) {
        advance();
        into.mode = plain(token_.text);
        advance();
        return expect(Tok::RParen);
    }
    if (at(Tok::LParen))
        skip_brackets();
}

// Applies __attribute__ to a type. Attributes that affect the placement of an object
// are handled with its declaration.
const Type* Parser::with_attributes(const Type* type, const CAttributes& said,
                                    Place place)
{
    const Type* real = type->resolve();
    if (!said.mode.empty() && type->is_arithmetic())
        if (const char* name =
                type_of_mode(said.mode, !real->is_float() && !real->is_signed))
            type = context_.types.lookup(name);
    if (said.vector_bytes != 0 && type->is_arithmetic())
        type = vector_type(type, said.vector_bytes, place);
    return type;
}

const Type* Parser::vector_type(const Type* element, std::uint64_t bytes, Place place)
{
    std::uint64_t size = element->resolve()->size;
    if (size == 0 || bytes % size != 0 || !std::has_single_bit(bytes))
        fail(Tag::DECL_ARRSUB, place,
             "vector of " + type_text(element) + " cannot have " +
                 std::to_string(bytes) + " bytes");
    Type* type = context_.types.anonymous(TypeKind::Struct);
    type->members.push_back(
        {"elements", context_.types.array_of(element, bytes / size), 0, 0});
    type->size = bytes;
    type->align = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(bytes, static_cast<std::uint64_t>(max_aligned)));
    type->complete = true;
    return type;
}

const Type* Parser::complex_type(const Type* part)
{
    const Type* real = part->resolve();
    Type* type = context_.types.anonymous(TypeKind::Struct);
    type->members.push_back({"real", part, 0, 0});
    type->members.push_back({"imaginary", part, real->size * 8, 0});
    type->size = real->size * 2;
    type->align = real->align;
    type->complete = true;
    return type;
}

// Reads the operand of _Alignas: a constant or a type.
std::uint32_t Parser::alignment_operand()
{
    Depth depth(*this);
    expect(Tok::LParen);
    std::uint32_t align = starts_type(token_)
                              ? type_name()->alignment()
                              : checked_alignment(constant_expression());
    expect(Tok::RParen);
    return align;
}

// Reads _Atomic(int), or the qualifier _Atomic.
void Parser::atomic_type(SpecifierWords& words)
{
    Depth depth(*this);
    advance();
    words.is_atomic = true;
    if (!at(Tok::LParen) || words.has_type() || !starts_type(peek()))
        return;
    advance();
    words.type = type_name();
    expect(Tok::RParen);
}

bool Parser::c_specifier(Specifiers& into, SpecifierWords& words)
{
    switch (token_.c_word) {
    case CWord::Attribute:
        attribute_list(into.attributes);
        return true;
    case CWord::Alignas:
        advance();
        into.attributes.align = std::max(into.attributes.align, alignment_operand());
        return true;
    case CWord::Typeof:
        if (words.has_type())
            return false;
        words.type = typeof_operand();
        return true;
    case CWord::Atomic:
        atomic_type(words);
        return true;
    case CWord::Complex:
        words.is_complex = true;
        break;
    case CWord::Int128:
        if (words.has_type())
            return false;
        words.is_int128 = true;
        break;
    case CWord::Extension:
    case CWord::Function:
    case CWord::Thread:
        break;
    default:
        if (!token_.at.c_header)
            return false;
        if (at(Tok::LBracket) && peek().kind == Tok::LBracket) {
            skip_brackets();
            return true;
        }
        if (!at(Key::Inline))
            return false;
    }
    advance();
    return true;
}

// Reads a static assertion, an asm statement, or a declaration that starts with a C23
// attribute. The lexer returns "[[...]]" as a probe description. Returns false if the
// text is none of these.
bool Parser::c_declaration()
{
    if (at(CWord::StaticAssert) || at(CWord::Asm)) {
        while (!at(Tok::LParen) && !at(Tok::Semicolon) && !at(Tok::End))
            advance();
        if (!at(Tok::LParen))
            syntax_error();
        skip_brackets();
        if (!at(Tok::Semicolon))
            syntax_error();
        advance(Lexer::Mode::Outer);
        return true;
    }
    if (!at(Tok::ProbeSpec) || !token_.at.c_header || !token_.text.starts_with("[["))
        return false;
    long depth = std::count(token_.text.begin(), token_.text.end(), '[') -
                 std::count(token_.text.begin(), token_.text.end(), ']');
    advance();
    for (; depth > 0; advance()) {
        depth += at(Tok::LBracket) ? 1 : at(Tok::RBracket) ? -1 : 0;
        if (at(Tok::End))
            syntax_error();
    }
    declaration();
    return true;
}

// Reads the rest of a parameter's array brackets, such as "n]", "*]", "restrict]" or
// "static 4]". An inner dimension that is not constant counts as 1.
// Returns false if the brackets contain a type.
bool Parser::parameter_bracket(Layer& layer)
{
    while (at(Key::Static) || at(Key::Const) || at(Key::Volatile) ||
           at(Key::Restrict) || at(CWord::Atomic))
        advance();
    if (accept(Tok::RBracket))
        return true;
    if (starts_type(token_))
        return false;
    layer.sized = true;
    layer.count = 1;
    if (at(Tok::Star) && peek().kind == Tok::RBracket) {
        advance();
    } else {
        auto count = constant_expression();
        if (count && *count > 0 && *count <= INT_MAX)
            layer.count = static_cast<std::uint64_t>(*count);
    }
    expect(Tok::RBracket);
    return true;
}

// Reads "inline int f(void) { ... }", starting after the declarator.
void Parser::c_function(const Specifiers& base, Declarator declarator)
{
    Specifiers elsewhere = base;
    if (base.storage != Storage::Typedef)
        elsewhere.storage = Storage::Other;
    declare(elsewhere, std::move(declarator));
    if (at(Tok::LBrace))
        return skip_brackets(Lexer::Mode::Outer);
    if (!at(Tok::Semicolon))
        syntax_error();
    advance(Lexer::Mode::Outer);
}

} // namespace dt
