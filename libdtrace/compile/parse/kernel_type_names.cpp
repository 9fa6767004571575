// SPDX-License-Identifier: MIT
// Types of the kernel that are named without a backquote (see parser.hpp).
//
// The program's declarations take precedence. A program may also use variables without
// a declaration, and kernels have typedefs such as `code` and `config`. So a name is a
// kernel typedef only if the text after the name shows that the name is a type:
//
//   config x  config *x;  (config *)  (config)x  sizeof (config)  offsetof(config, m)
#include "libdtrace/compile/builtins.hpp"
#include "libdtrace/compile/parse/parser.hpp"

#include <cctype>
#include <functional>

namespace dt {

namespace {

void skip_blanks(std::string_view& text)
{
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
}

bool begins_name(std::string_view text)
{
    return !text.empty() &&
           (std::isalpha(static_cast<unsigned char>(text[0])) != 0 || text[0] == '_');
}

// Returns whether the text may start the operand of a cast.
bool begins_operand(std::string_view text)
{
    if (text.empty())
        return false;
    return begins_name(text) ||
           std::isdigit(static_cast<unsigned char>(text[0])) != 0 || text[0] == '(' ||
           text[0] == '$' || text[0] == '`' || text[0] == '~';
}

} // namespace

// Returns the part of the text after the token `raw`. Returns an empty string if the
// token comes from a macro's value.
static std::string_view behind(std::string_view raw, std::string_view text)
{
    const std::less_equal<const char*> before;
    if (!before(text.data(), raw.data()) ||
        !before(raw.data() + raw.size(), text.data() + text.size()))
        return {};
    return text.substr(static_cast<std::size_t>(raw.data() - text.data()) + raw.size());
}

bool Parser::reads_as_type(std::string_view raw, TypePlace place) const
{
    std::string_view rest = behind(raw, context_.text);
    skip_blanks(rest);
    if (rest.empty())
        return place == TypePlace::Certain; // at other places, text must follow
    const bool starred = rest[0] == '*';
    switch (place) {
    case TypePlace::Certain:
        return true;
    case TypePlace::Declaration:
        return starred || begins_name(rest);
    case TypePlace::Parenthesis:
    case TypePlace::Sizeof:
        break;
    }
    while (!rest.empty() && rest[0] == '*') {
        rest.remove_prefix(1);
        skip_blanks(rest);
    }
    if (!rest.starts_with(')'))
        return false;
    rest.remove_prefix(1);
    skip_blanks(rest);
    return starred || place == TypePlace::Sizeof || begins_operand(rest);
}

bool Parser::is_taken(const std::string& name) const
{
    const SymbolTable& symbols = context_.symbols;
    return variables_.contains(name) ||
           symbols.variables.contains({Scope::Global, name}) ||
           symbols.inlines.contains(name) || find_variable_row(name) != nullptr ||
           find_subroutine_row(name) != nullptr || find_action_row(name) != nullptr ||
           find_agg_row(name) != nullptr;
}

const Type* Parser::kernel_typedef(std::string_view raw, TypePlace place) const
{
    if (lexer_.in_c_header() || !begins_name(raw) ||
        raw.find('`') != std::string_view::npos || !reads_as_type(raw, place) ||
        is_taken(std::string(raw)))
        return nullptr;
    return context_.target.kernel().type("", raw, TargetNames::Kind::Ordinary);
}

// Returns whether the text contains "KEYWORD NAME {" anywhere, for example
// "struct task_struct {".
static bool defines_tag(std::string_view text, std::string_view keyword,
                        std::string_view name)
{
    for (std::size_t at = text.find(keyword); at != std::string_view::npos;
         at = text.find(keyword, at + 1)) {
        std::string_view rest = text.substr(at + keyword.size());
        skip_blanks(rest);
        if (!rest.starts_with(name))
            continue;
        rest.remove_prefix(name.size());
        skip_blanks(rest);
        if (rest.starts_with('{'))
            return true;
    }
    return false;
}

// Looks up the current token as a tag of the kernel. Returns null if the program
// defines this tag, or if the kernel does not have it.
const Type* Parser::kernel_tag(TypeKind kind, const std::string& keyword)
{
    const std::string& name = token_.text;
    if (token_.at.c_header || peek().kind == Tok::LBrace ||
        peek().kind == Tok::Semicolon)
        return nullptr;
    const Type* own = context_.types.lookup(keyword + " " + name);
    if (own != nullptr && (own->complete || open_types_.contains(own)))
        return nullptr;
    if (defines_tag(context_.text, keyword, name))
        return nullptr;
    auto tag = kind == TypeKind::Struct  ? TargetNames::Kind::Struct
               : kind == TypeKind::Union ? TargetNames::Kind::Union
                                         : TargetNames::Kind::Enum;
    return context_.target.kernel().type("", name, tag);
}

} // namespace dt
