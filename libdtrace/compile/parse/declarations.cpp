// SPDX-License-Identifier: MIT
// Declaration specifiers and the declarations that follow them (see parser.hpp).
#include "libdtrace/compile/parse/parser.hpp"
#include "libdtrace/compile/parse/specifier_words.hpp"

#include <algorithm>
#include <bit>

namespace dt {

// Returns the type with this name, or null if there is none.
const Type* Parser::named_type(std::string_view name) const
{
    if (name.find('`') == std::string_view::npos)
        return context_.types.lookup(name);
    if (name.starts_with(own_scope))
        return context_.types.lookup(name.substr(own_scope.size()));
    const Type* type = context_.target.type(name);
    if (type == nullptr)
        unknown_type_ = name;
    return type;
}

bool Parser::is_type_name(std::string_view name) const
{
    if (name.find('`') != std::string_view::npos)
        return named_type(name) != nullptr;
    return context_.types.lookup(name) != nullptr &&
           !variables_.contains(std::string(name)) &&
           !context_.symbols.variables.contains({Scope::Global, std::string(name)});
}

bool Parser::starts_type(const Token& token) const
{
    switch (token.key) {
    case Key::Void:
    case Key::Char:
    case Key::Short:
    case Key::Int:
    case Key::Long:
    case Key::Float:
    case Key::Double:
    case Key::Signed:
    case Key::Unsigned:
    case Key::Struct:
    case Key::Union:
    case Key::Enum:
    case Key::Const:
    case Key::Volatile:
    case Key::Restrict:
    case Key::Userland:
    case Key::String:
        return true;
    default:
        return token.kind == Tok::Ident &&
               (is_c_word_of_type(token) || is_type_name(token.text) ||
                kernel_typedef(token.raw, TypePlace::Parenthesis) != nullptr);
    }
}

bool Parser::starts_declaration() const
{
    switch (token_.key) {
    case Key::Typedef:
    case Key::Extern:
    case Key::Static:
    case Key::Auto:
    case Key::Register:
    case Key::Self:
    case Key::This:
        return true;
    default:
        return starts_type(token_) ||
               (at(Tok::Ident) &&
                kernel_typedef(token_.raw, TypePlace::Declaration) != nullptr) ||
               (token_.c_word != CWord::None && !at(CWord::Alignof));
    }
}

bool Parser::storage_specifier(Specifiers& into)
{
    Storage storage = Storage::Other;
    Scope scope = Scope::Global;
    switch (token_.key) {
    case Key::Typedef:
        storage = Storage::Typedef;
        break;
    case Key::Extern:
        storage = Storage::Extern;
        break;
    case Key::Auto:
    case Key::Static:
    case Key::Register:
        break;
    case Key::Self:
    case Key::This:
        storage = Storage::None;
        scope = at(Key::Self) ? Scope::Self : Scope::This;
        break;
    default:
        return false;
    }
    if (into.storage != Storage::None || into.scope != Scope::Global)
        fail(Tag::DECL_CLASS, token_.at,
             "only one storage class allowed in a declaration");
    into.storage = storage;
    into.scope = scope;
    advance();
    return true;
}

bool Parser::specifier(Specifiers& into, SpecifierWords& words)
{
    const TypePlace place =
        n_type_names_ > 0 ? TypePlace::Certain : TypePlace::Declaration;
    auto once = [&](bool& word) {
        if (word)
            fail(Tag::DECL_COMBO, token_.at,
                 "the attribute '" + token_.text +
                     "' may be used at most once in a declaration");
        word = true;
    };
    if (at(Tok::Ident)) {
        if (words.has_type() || words.has_attributes())
            return false;
        const Type* type = is_type_name(token_.text)
                               ? named_type(token_.text)
                               : kernel_typedef(token_.raw, place);
        if (type == nullptr)
            return false;
        words.type = type;
        advance();
        return true;
    }
    switch (token_.key) {
    case Key::Const:
        words.is_const = true;
        break;
    case Key::Volatile:
        words.is_volatile = true;
        break;
    case Key::Restrict:
        break;
    case Key::Userland:
        words.userland = true;
        break;
    case Key::Signed:
        once(words.is_signed);
        break;
    case Key::Unsigned:
        once(words.is_unsigned);
        break;
    case Key::Short:
        once(words.is_short);
        break;
    case Key::Long:
        ++words.n_long;
        break;
    case Key::Void:
    case Key::Char:
    case Key::Int:
    case Key::Float:
    case Key::Double:
        if (words.has_type())
            fail(Tag::DECL_COMBO, token_.at, "invalid type combination");
        words.word = token_.key;
        break;
    case Key::String:
    case Key::Struct:
    case Key::Union:
    case Key::Enum:
        if (words.has_type())
            fail(Tag::DECL_COMBO, token_.at, "invalid type combination");
        if (!at(Key::String)) {
            words.type = tagged_type(into);
            return true;
        }
        words.type = context_.types.string_type();
        break;
    default:
        return false;
    }
    advance();
    return true;
}

// Returns whether the current keyword is used as a name, like "self" in
// "struct s { int self; }".
bool Parser::names_member()
{
    if (!at(Tok::Keyword) || !keyword_is_member_name(token_.key))
        return false;
    Tok next = peek().kind;
    return next == Tok::Semicolon || next == Tok::Comma || next == Tok::Colon ||
           next == Tok::LBracket || (next == Tok::RParen && token_.at.c_header);
}

// Returns whether a declaration without a type declares an int, as in old C:
// "extern x;". Returns false for "extern foo *x;" and "extern foo x;", where foo is an
// unknown type.
bool Parser::is_implicit_int()
{
    if (at(Tok::Star) || at(Tok::LParen))
        return true;
    Tok next = at(Tok::Ident) ? peek().kind : Tok::End;
    return next == Tok::Semicolon || next == Tok::Comma || next == Tok::LBracket ||
           next == Tok::LParen;
}

Parser::Specifiers Parser::specifiers(Names names)
{
    Specifiers result;
    SpecifierWords words;
    result.at = words.at = token_.at;
    auto is_name = [&] {
        return (names == Names::Member || token_.at.c_header) &&
               (words.has_type() || words.has_attributes()) && names_member();
    };
    bool any = false;
    while (!is_name() && (storage_specifier(result) || c_specifier(result, words) ||
                          specifier(result, words)))
        any = true;
    if (!words.has_type() && !words.has_attributes() && !(any && is_implicit_int()))
        syntax_error();
    result.type = finish_specifiers(words);
    if (words.is_atomic && result.type->is_struct_or_union()) {
        auto size = static_cast<std::uint32_t>(result.type->resolve()->size);
        if (size <= 16 && std::has_single_bit(size))
            result.attributes.align = std::max(result.attributes.align, size);
    }
    return result;
}

// Checks by C's rules whether the words may be combined, and returns their type.
const Type* Parser::finish_specifiers(const SpecifierWords& words)
{
    bool is_char = words.word == Key::Char;
    bool is_float = words.word == Key::Float, is_double = words.word == Key::Double;
    auto invalid = [&](Tag tag, const char* why) {
        fail(tag, words.at, std::string("invalid type declaration: ") + why);
    };
    if (words.word == Key::Void && words.has_attributes())
        invalid(Tag::DECL_VOIDATTR, "attributes may not be used with void type");
    if (is_char && (words.is_short || words.n_long > 0))
        invalid(Tag::DECL_CHARATTR, "short and long may not be used with char type");
    if (words.type != nullptr && (words.is_signed || words.is_unsigned))
        invalid(Tag::DECL_SIGNINT,
                "signed and unsigned may only be used with integer type");
    if ((is_float || is_double) && (words.is_signed || words.is_unsigned))
        invalid(Tag::DECL_SIGNINT,
                "signed and unsigned may only be used with integer type");
    if (words.is_short && (words.type != nullptr || is_float || is_double))
        invalid(Tag::DECL_LONGINT, "short may only be used with integer type");
    if (words.n_long > 0 && (words.type != nullptr || is_float))
        invalid(Tag::DECL_LONGINT, "long may only be used with integer type");
    if (words.is_signed && words.is_unsigned)
        invalid(Tag::DECL_COMBO, "signed and unsigned may not be combined");
    if (words.n_long > 2 || (words.n_long > 1 && is_double) ||
        (words.n_long > 0 && words.is_short))
        invalid(Tag::DECL_COMBO, "too many short or long attributes");

    const Type* type = words.type;
    if (words.is_int128) {
        type =
            context_.types.lookup(words.is_unsigned ? "unsigned __int128" : "__int128");
    } else if (type == nullptr) {
        std::string name;
        if (words.is_unsigned)
            name += "unsigned ";
        if (words.is_signed && is_char)
            name += "signed ";
        if (words.is_short)
            name += "short ";
        for (int i = 0; i < words.n_long; ++i)
            name += "long ";
        name += words.word == Key::Void         ? "void"
                : is_char                       ? "char"
                : is_float                      ? "float"
                : is_double || words.is_complex ? "double"
                                                : "int";
        type = context_.types.lookup(name);
    }
    if (words.is_complex)
        type = complex_type(type);
    return context_.types.qualified(type, words.is_const, words.is_volatile,
                                    words.userland);
}

void Parser::declaration()
{
    Specifiers base = specifiers();
    if (base.storage == Storage::Other && !base.at.c_header)
        fail(Tag::DECL_BADCLASS, base.at,
             "specified storage class not appropriate in D");
    if (at(Tok::Semicolon)) {
        // C compilers accept `typedef struct s { ... };` as a declaration of the tag.
        const bool storage_fits =
            base.storage == Storage::None || base.storage == Storage::Typedef;
        if ((!base.declares_tag || !storage_fits) && !base.at.c_header)
            fail(Tag::DECL_USELESS, base.at, "useless declaration");
        auto decl = std::make_unique<Decl>();
        decl->kind = DeclKind::TypeOnly;
        decl->at = base.at;
        decl->type = base.type;
        add(std::move(decl));
    } else {
        declare_one(base);
        while (accept(Tok::Comma))
            declare_one(base);
    }
    if (at(Tok::LBrace) && base.at.c_header && token_.at.c_header)
        return skip_brackets(Lexer::Mode::Outer);
    if (!at(Tok::Semicolon))
        syntax_error();
    advance(Lexer::Mode::Outer);
}

// Reads one declarator and declares it. An object that a header initialises is declared
// like an extern object.
void Parser::declare_one(const Specifiers& base)
{
    Declarator one = declarator(base, Names::Needed);
    if (!at(Tok::Assign) || !base.at.c_header || base.storage == Storage::Typedef)
        return declare(base, std::move(one));
    Specifiers elsewhere = base;
    elsewhere.storage = Storage::Other;
    declare(elsewhere, std::move(one));
    skip_initialiser();
}

void Parser::declare(const Specifiers& base, Declarator declarator)
{
    if (base.storage == Storage::Typedef) {
        declare_typedef(declarator);
        return;
    }
    bool is_function = declarator.type->resolve()->kind == TypeKind::Function;
    bool elsewhere = base.storage == Storage::Extern || base.storage == Storage::Other;
    if (elsewhere || is_function) {
        // Declares a function, or an object that is defined elsewhere. D uses only its
        // type.
        if (declarator.at.c_header)
            c_objects_[declarator.name] = declarator.type;
        auto decl = std::make_unique<Decl>();
        decl->kind = DeclKind::TypeOnly;
        decl->at = declarator.at;
        decl->name = std::move(declarator.name);
        decl->type = declarator.type;
        add(std::move(decl));
        return;
    }
    declare_variable(base, std::move(declarator));
}

void Parser::declare_typedef(const Declarator& declarator)
{
    if (declarator.has_keys)
        fail(Tag::DECL_ARRSUB, declarator.at,
             "a typedef of an array requires a constant size: " + declarator.name);
    if (variables_.contains(declarator.name))
        fail(Tag::DECL_IDRED, declarator.at,
             "identifier redeclared: " + declarator.name);
    Type* type = context_.types.declare(TypeKind::Typedef, declarator.name);
    bool differs =
        type == nullptr || (type->complete && !is_same_type(*type, *declarator.type));
    if (differs && declarator.at.c_header) {
        type = context_.types.redeclare(TypeKind::Typedef, declarator.name);
        differs = type == nullptr;
    }
    if (differs)
        fail(Tag::DECL_TYPERED, declarator.at, "type redeclared: " + declarator.name);
    if (!type->complete) {
        type->base = declarator.type;
        type->resolved = declarator.type->resolve();
        type->size = declarator.type->size;
        type->align = declarator.type->align;
        type->own_align = declarator.attributes.align != 0 ? declarator.attributes.align
                                                           : declarator.type->own_align;
        type->complete = true;
    }
    auto decl = std::make_unique<Decl>();
    decl->kind = DeclKind::TypeOnly;
    decl->at = declarator.at;
    decl->name = declarator.name;
    decl->type = type;
    add(std::move(decl));
}

void Parser::declare_variable(const Specifiers& base, Declarator declarator)
{
    const Type* real = declarator.type->resolve();
    if (real->kind == TypeKind::Void)
        fail(Tag::DECL_VOIDOBJ, declarator.at,
             "cannot declare void object: " + declarator.name);
    if (real->kind == TypeKind::Array && !real->complete)
        fail(Tag::DECL_ARRNULL, declarator.at,
             "array declaration requires array dimension or tuple signature: " +
                 declarator.name);
    whole_type(declarator.type, declarator.at, declarator.name);
    if (declarator.has_keys && base.scope == Scope::This)
        fail(Tag::DECL_LOCASSC, declarator.at,
             "clause-local associative array is not permitted: this->" +
                 declarator.name);
    auto decl = std::make_unique<Decl>();
    decl->kind = DeclKind::Variable;
    decl->at = declarator.at;
    decl->scope = base.scope;
    decl->type = declarator.type;
    decl->assoc = declarator.has_keys;
    decl->keys = std::move(declarator.keys.types);
    if (base.scope == Scope::Global)
        variables_.insert(declarator.name);
    decl->name = std::move(declarator.name);
    add(std::move(decl));
}

} // namespace dt
