// SPDX-License-Identifier: MIT
// Programs, clauses, probe descriptions and statements (see parser.hpp).
#include "libdtrace/compile/parse/parser.hpp"

#include <cstdio>

namespace dt {

namespace {

constexpr std::size_t max_quoted_token = 64;

std::string printable(std::string_view raw)
{
    std::string text;
    for (char c : raw.substr(0, max_quoted_token)) {
        auto byte = static_cast<unsigned char>(c);
        if (byte >= 0x20 && byte != 0x7f) {
            text += c;
            continue;
        }
        char escaped[8];
        std::snprintf(escaped, sizeof escaped, "\\x%02x", byte);
        text += escaped;
    }
    return raw.size() > max_quoted_token ? text + "..." : text;
}

} // namespace

Parser::Parser(CompileContext& context)
    : context_(context), macros_(context.options),
      pragmas_(context.options, unit_,
               [this](std::string_view name) { return context_.symbols.file(name); }),
      lexer_(
          context.text, macros_, context.options.pspec,
          [this](std::string_view name) {
              return is_type_name(name) || is_c_word(name, lexer_.in_c_header()) ||
                     kernel_typedef(name, TypePlace::Declaration) != nullptr;
          },
          [this](std::string_view line, Place place) {
              pragmas_.control(line, place, lexer_);
          })
{
    if (context.options.library)
        lexer_.set_file(context.symbols.file(context.options.source_name));
}

void Parser::advance(Lexer::Mode mode)
{
    if (peeked_) {
        token_ = std::move(*peeked_);
        peeked_.reset();
        return;
    }
    token_ = lex(mode);
}

Token Parser::lex(Lexer::Mode mode)
{
    Token token = lexer_.next(mode);
    read_c_word(token);
    return token;
}

const Token& Parser::peek()
{
    if (!peeked_)
        peeked_ = lex(Lexer::Mode::Code);
    return *peeked_;
}

bool Parser::accept(Tok kind)
{
    if (!at(kind))
        return false;
    advance();
    return true;
}

void Parser::expect(Tok kind)
{
    if (!accept(kind))
        syntax_error();
}

// Reads a member's name. Keywords that C code commonly uses as names are accepted.
std::string Parser::take_name()
{
    if (!at(Tok::Ident) && !(at(Tok::Keyword) && keyword_is_member_name(token_.key)))
        syntax_error();
    std::string name = token_.text;
    advance();
    return name;
}

void Parser::syntax_error() const
{
    if (at(Tok::End))
        fail(Tag::SYNTAX, token_.at, "syntax error near end of input");
    // If there is no type a.out`foo, "(a.out`foo *)x" is parsed as a product. The
    // message names the unknown type instead of the token.
    if (!unknown_type_.empty() && !context_.target.variable(unknown_type_))
        fail(Tag::TYPE_ERR, token_.at,
             "failed to resolve " + unknown_type_ + ": Unknown type name" +
                 context_.target.why_no_type(unknown_type_));
    fail(Tag::SYNTAX, token_.at, "syntax error near \"" + printable(token_.raw) + "\"");
}

void Parser::enter()
{
    if (++depth_ <= max_depth)
        return;
    --depth_;
    fail(Tag::SYNTAX, token_.at,
         "expressions or declarations are nested too deeply: more than " +
             std::to_string(max_depth) + " levels");
}

Unit Parser::program()
{
    advance(Lexer::Mode::Outer);
    while (!at(Tok::End))
        top();
    if (unit_.order.empty() && !context_.options.empty)
        fail(Tag::EMPTY, {}, "empty D program translation unit");
    macros_.check_all_used();
    return std::move(unit_);
}

const Type* Parser::only_type()
{
    advance();
    if (!starts_type(token_))
        syntax_error();
    const Type* type = type_name();
    if (!at(Tok::End))
        syntax_error();
    return type;
}

void Parser::top()
{
    if (c_declaration())
        return;
    if (at(Tok::ProbeSpec) || at(Tok::Integer))
        clause();
    else if (at(Tok::Semicolon))
        advance(Lexer::Mode::Outer);
    else if (at(Key::Inline))
        inline_definition();
    else if (at(Key::Translator))
        translator();
    else if (at(Key::Provider))
        provider();
    else if (starts_declaration())
        declaration();
    else
        syntax_error();
}

void Parser::add(std::unique_ptr<Decl> decl)
{
    unit_.order.emplace_back(true, unit_.decls.size());
    unit_.decls.push_back(std::move(decl));
}

void Parser::clause()
{
    auto clause = std::make_unique<Clause>();
    clause->at = token_.at;
    clause->probes.push_back(probe_spec());
    while (at(Tok::Comma)) {
        advance(Lexer::Mode::Outer);
        clause->probes.push_back(probe_spec());
    }
    bool bare = true;
    if (at(Tok::Slash)) {
        bare = false;
        lexer_.open_predicate();
        advance();
        clause->predicate = expression();
        if (!at(Tok::PredicateEnd))
            syntax_error();
        advance(Lexer::Mode::Outer);
    }
    if (at(Tok::LBrace)) {
        bare = false;
        advance();
        clause->statements = block();
        advance(Lexer::Mode::Outer);
    }
    if (bare && !context_.options.string_program)
        fail(Tag::SYNTAX, token_.at,
             "expected predicate and/or actions following probe description");
    clause->default_action = clause->statements.empty();
    unit_.order.emplace_back(false, unit_.clauses.size());
    unit_.clauses.push_back(std::move(clause));
}

ProbeSpec Parser::probe_spec()
{
    if (!at(Tok::ProbeSpec) && !at(Tok::Integer))
        syntax_error();
    ProbeSpec spec;
    if (at(Tok::ProbeSpec)) {
        spec = describe(token_);
    } else {
        spec.text = token_.raw;
        spec.at = token_.at;
        probe_id(spec);
    }
    advance(Lexer::Mode::Outer);
    return spec;
}

// Reads a probe id, which must be a positive integer.
void Parser::probe_id(ProbeSpec& spec) const
{
    if (context_.options.field != SpecField::Name) {
        static constexpr const char* names[] = {"providers", "modules", "functions"};
        fail(Tag::PDESC_INVAL, token_.at,
             "probe identifier " + spec.text + " not permitted when specifying " +
                 names[static_cast<int>(context_.options.field)]);
    }
    if (token_.negative || token_.value == 0 || token_.value > UINT32_MAX)
        fail(Tag::PDESC_INVAL, token_.at,
             "invalid probe identifier " + spec.text + ": Unknown probe identifier");
    spec.id = static_cast<std::uint32_t>(token_.value);
}

// Splits a description into its fields. The fields are filled from the right, starting
// with the field that -P, -m, -f or -n denotes.
ProbeSpec Parser::describe(const Token& token)
{
    ProbeSpec spec;
    spec.text = token.text;
    spec.at = token.at;
    std::string* const fields[] = {&spec.provider, &spec.module, &spec.function,
                                   &spec.name};
    std::string expanded = macros_.expand(token.text, token.at);
    std::string_view rest = expanded;
    if (rest.starts_with(':')) // a colon at the start is ignored
        rest.remove_prefix(1);
    for (int field = static_cast<int>(context_.options.field);; --field) {
        std::size_t colon = rest.rfind(':');
        if (field < 0)
            fail(Tag::PDESC_INVAL, token.at,
                 "invalid probe description \"" + spec.text +
                     "\": Overspecified probe description");
        *fields[field] =
            colon == std::string_view::npos ? rest : rest.substr(colon + 1);
        if (colon == std::string_view::npos)
            return spec;
        rest = rest.substr(0, colon);
    }
}

// Reads the statements up to the '}', but does not consume it.
std::vector<Stmt> Parser::block()
{
    std::vector<Stmt> statements;
    while (!at(Tok::RBrace)) {
        if (accept(Tok::Semicolon))
            continue;
        statements.push_back(statement());
    }
    return statements;
}

Stmt Parser::statement()
{
    if (at(Key::If))
        return if_statement();
    Stmt statement;
    statement.at = token_.at;
    statement.expr = expression();
    if (!at(Tok::RBrace))
        expect(Tok::Semicolon);
    return statement;
}

Stmt Parser::if_statement()
{
    Depth depth(*this);
    Stmt statement;
    statement.kind = StmtKind::If;
    statement.at = token_.at;
    advance();
    expect(Tok::LParen);
    statement.expr = expression();
    expect(Tok::RParen);
    statement.then_block = branch();
    if (at(Key::Else)) {
        advance();
        statement.else_block = branch();
    }
    return statement;
}

// Reads the part after if (...) or after else, which is a block or one statement.
std::vector<Stmt> Parser::branch()
{
    std::vector<Stmt> statements;
    if (accept(Tok::LBrace)) {
        statements = block();
        advance();
    } else if (!accept(Tok::Semicolon)) {
        statements.push_back(statement());
    }
    return statements;
}

Unit parse(CompileContext& context)
{
    return Parser(context).program();
}

const Type* parse_type(CompileContext& context)
{
    return Parser(context).only_type();
}

} // namespace dt
