// SPDX-License-Identifier: MIT
// Definitions of inlines, translators and providers (see parser.hpp).
#include "libdtrace/compile/parse/parser.hpp"

#include <algorithm>
#include <set>
#include <string>

namespace dt {

// Parses `inline type name = expr;` or `inline type name[type key, ...] = expr;`.
void Parser::inline_definition()
{
    auto decl = std::make_unique<Decl>();
    decl->kind = DeclKind::Inline;
    advance();
    Specifiers base = specifiers();
    bool is_c = base.storage != Storage::None && base.at.c_header;
    if (!is_c && (base.storage != Storage::None || base.scope != Scope::Global))
        fail(Tag::DECL_BADCLASS, base.at,
             "specified storage class not appropriate in D");
    Declarator name = declarator(base, Names::Needed);
    if (is_c || (base.at.c_header && (at(Tok::LBrace) || at(Tok::Semicolon))))
        return c_function(base, std::move(name));
    decl->at = name.at;
    decl->name = name.name;
    decl->type = name.type;
    decl->assoc = name.has_keys;
    decl->keys = name.keys.types;
    decl->key_names = name.keys.names;
    for (const std::string& key : decl->key_names) {
        if (key.empty())
            fail(Tag::DECL_PROTO_NAME, decl->at,
                 "inline " + decl->name + "[ ] requires a name for each key");
        if (std::count(decl->key_names.begin(), decl->key_names.end(), key) > 1)
            fail(Tag::DECL_IDRED, decl->at, "key redeclared: " + key);
    }
    if (!at(Tok::Assign))
        syntax_error();
    advance();
    decl->expr = assignment();
    if (!at(Tok::Semicolon))
        syntax_error();
    advance(Lexer::Mode::Outer);
    if (auto value = evaluate(*decl->expr); value && !decl->assoc)
        context_.symbols.inline_values.emplace(decl->name, value->value);
    add(std::move(decl));
}

// Parses `translator output < input *name > { member = expr; ... };`.
void Parser::translator()
{
    auto decl = std::make_unique<Decl>();
    decl->kind = DeclKind::Translator;
    decl->at = token_.at;
    advance();
    decl->to = type_name();
    expect(Tok::Lt);
    Specifiers base = specifiers();
    Declarator parameter = declarator(base, Names::Needed);
    decl->from = parameter.type;
    decl->parameter = parameter.name;
    expect(Tok::Gt);
    expect(Tok::LBrace);
    while (!at(Tok::RBrace)) {
        TranslatorMember member;
        member.at = token_.at;
        member.name = take_name();
        expect(Tok::Assign);
        member.expr = assignment();
        expect(Tok::Semicolon);
        decl->members.push_back(std::move(member));
    }
    advance(Lexer::Mode::Outer);
    add(std::move(decl));
}

// Parses `provider name { probe name(types) : (types); ... };`.
void Parser::provider()
{
    auto decl = std::make_unique<Decl>();
    decl->kind = DeclKind::Provider;
    advance();
    decl->at = token_.at;
    decl->name = take_name();
    if (decl->name.back() >= '0' && decl->name.back() <= '9')
        fail(Tag::PROV_BADNAME, decl->at,
             "provider name may not end with a digit: " + decl->name);
    expect(Tok::LBrace);
    std::unordered_set<std::string> names;
    while (!at(Tok::RBrace)) {
        if (accept(Tok::Semicolon))
            continue;
        ProviderProbe probe = provider_probe();
        if (!names.insert(probe.name).second)
            fail(Tag::PROV_PRDUP, probe.at,
                 "probe redeclared: " + decl->name + ":::" + probe.name);
        decl->probes.push_back(std::move(probe));
    }
    advance(Lexer::Mode::Outer);
    add(std::move(decl));
}

ProviderProbe Parser::provider_probe()
{
    if (!at(Key::Probe))
        syntax_error();
    advance();
    ProviderProbe probe;
    probe.at = token_.at;
    probe.name = take_name();
    // The name may be in its published form, with hyphens, such as query-return.
    while (accept(Tok::Minus)) {
        if (!at(Tok::Ident) && !at(Tok::Keyword))
            syntax_error();
        probe.name += "-" + token_.text;
        advance();
    }
    expect(Tok::LParen);
    provider_arguments(probe.native, probe.native_names);
    // Names in the native list must be unique, but the translated list may repeat a
    // name.
    std::set<std::string> declared;
    for (const std::string& name : probe.native_names)
        if (!name.empty() && !declared.insert(name).second)
            fail(Tag::DECL_PROTO_FORM, probe.at,
                 "parameter is already declared: " + name);
    if (accept(Tok::Colon)) {
        probe.has_translated = true;
        expect(Tok::LParen);
        provider_arguments(probe.translated, probe.translated_names);
    }
    expect(Tok::Semicolon);
    return probe;
}

void Parser::provider_arguments(std::vector<const Type*>& types,
                                std::vector<std::string>& names)
{
    Place place = token_.at;
    in_probe_ = true;
    Parameters list = parameters(Tok::RParen);
    in_probe_ = false;
    if (list.varargs)
        fail(Tag::DECL_PROTO_VARARGS, place,
             "probe prototype may not use a variable-length argument list");
    types = std::move(list.types);
    names = std::move(list.names);
}

} // namespace dt
