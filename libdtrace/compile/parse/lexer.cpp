// SPDX-License-Identifier: MIT
// See lexer.hpp. Numbers and quoted constants are read in lexer_literals.cpp.
#include "libdtrace/compile/parse/lexer.hpp"

#include "libdtrace/compile/parse/macro.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace dt {

namespace {

// The maximum length in bytes of the module's name in module`symbol.
constexpr std::size_t max_module_name = 256;

enum : unsigned char {
    blank = 1,
    digit = 2,
    letter = 4,     // starts an identifier
    spec_start = 8, // starts a probe description
    spec_more = 16, // continues a probe description
};

std::array<unsigned char, 256> make_classes()
{
    std::array<unsigned char, 256> classes{};
    auto mark = [&](std::string_view chars, int what) {
        for (char c : chars)
            classes[static_cast<unsigned char>(c)] |= static_cast<unsigned char>(what);
    };
    mark(" \t\v\f\r", blank);
    mark("0123456789", digit | spec_more);
    mark("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_",
         letter | spec_start | spec_more);
    mark("-$:.?*\\[]!", spec_start | spec_more);
    // Classic DTrace does not accept these characters in probe descriptions. They occur
    // in libstdc++.so.6, in symbol versions such as foo@VERS_1, and in UTF-8
    // names.
    mark("`+@~", spec_more);
    for (std::size_t c = 0x80; c < classes.size(); ++c)
        classes[c] |= spec_start | spec_more;
    return classes;
}

bool is(char c, int what)
{
    static const std::array<unsigned char, 256> classes = make_classes();
    return (classes[static_cast<unsigned char>(c)] & what) != 0;
}

struct Keyword {
    Key key;
    bool member;
};

const std::unordered_map<std::string_view, Keyword>& keywords()
{
    static const std::unordered_map<std::string_view, Keyword> table = {
#define X(word, name, member) {word, {Key::name, member != 0}},
        D_KEYWORDS(X)
#undef X
    };
    return table;
}

struct Punctuation {
    std::string_view text;
    Tok kind;
};

constexpr Punctuation punctuation_table[] = {
#define X(text, name) {text, Tok::name},
    D_PUNCTUATION(X)
#undef X
};

} // namespace

Key find_keyword(std::string_view word)
{
    auto found = keywords().find(word);
    return found == keywords().end() ? Key::None : found->second.key;
}

bool keyword_is_member_name(Key key)
{
    static const bool is_member[] = {false,
#define X(word, name, member) member != 0,
                                     D_KEYWORDS(X)
#undef X
    };
    return is_member[static_cast<std::size_t>(key)];
}

Lexer::Lexer(std::string_view text, Macros& macros, bool pspec, IsType is_type,
             Control control)
    : text_(text), macros_(macros), pspec_(pspec), is_type_(std::move(is_type)),
      control_(std::move(control))
{
}

Place Lexer::place() const
{
    return {line_, static_cast<int>(pos_ - line_start_) + 1, text_line_, file_,
            c_header_};
}

void Lexer::newline()
{
    ++line_;
    ++text_line_;
    line_start_ = pos_;
    fresh_line_ = true;
}

// Returns the length of a line continuation (a backslash and a newline) at this offset,
// or 0 if there is none.
std::size_t Lexer::splice_length(std::size_t at) const
{
    std::string_view rest = text_.substr(std::min(at, text_.size()));
    return rest.starts_with("\\\n") ? 2 : rest.starts_with("\\\r\n") ? 3 : 0;
}

void Lexer::skip_line()
{
    pos_ = std::min(text_.find('\n', pos_), text_.size());
}

void Lexer::skip_block_comment()
{
    pos_ += 2;
    while (!at_end()) {
        std::string_view rest = text_.substr(pos_, 2);
        if (rest == "*/") {
            pos_ += 2;
            return;
        }
        if (rest == "/*")
            fail(Tag::SYNTAX, place(), "/* encountered inside a comment");
        if (text_[pos_++] == '\n')
            newline();
    }
    fail(Tag::SYNTAX, place(), "end-of-file encountered before matching */");
}

void Lexer::control_line()
{
    Place at = place();
    if (peek(1) == '!') {
        skip_line();
        return;
    }
    std::size_t begin = ++pos_;
    skip_line();
    std::string_view line = text_.substr(begin, pos_ - begin);
    if (line.ends_with('\r'))
        line.remove_suffix(1);
    control_(line, at);
}

void Lexer::skip_blanks(Mode mode)
{
    while (!at_end()) {
        char c = text_[pos_];
        if (is(c, blank)) {
            ++pos_;
        } else if (c == '\n') {
            ++pos_;
            newline();
        } else if (c == '#' && fresh_line_) {
            control_line();
        } else if (c == '/' && peek(1) == '*') {
            skip_block_comment();
        } else if (c == '/' && peek(1) == '/' &&
                   (mode == Mode::Outer || !predicate_open_)) {
            skip_line();
        } else if (std::size_t length = splice_length(pos_)) {
            pos_ += length;
            newline();
            fresh_line_ = false;
        } else {
            return;
        }
    }
}

Token Lexer::make(Tok kind, std::size_t begin, Place at) const
{
    Token token;
    token.kind = kind;
    token.begin = begin;
    token.at = at;
    return token;
}

Token Lexer::next(Mode mode)
{
    skip_blanks(mode);
    Token token = make(Tok::End, pos_, place());
    fresh_line_ = false;
    if (!at_end()) {
        token = mode == Mode::Outer ? outer(std::move(token)) : code(std::move(token));
        token.raw = text_.substr(token.begin, pos_ - token.begin);
    }
    return token;
}

// Reads a token in Outer mode. A sequence of characters that probe descriptions may
// contain is one token. If the sequence has no ':' and is a keyword or a type's name,
// the token is that keyword or name. A keyword or type's name may also end at a '*', as
// in "int*p", unless the option pspec is set.
Token Lexer::outer(Token token)
{
    if (!is(peek(), spec_start) || text_.substr(pos_, 2) == "*/")
        return code(std::move(token));
    std::size_t end = pos_;
    while (end < text_.size() && is(text_[end], spec_more) && splice_length(end) == 0)
        ++end;
    std::string_view run = text_.substr(pos_, end - pos_);
    if (run.find(':') == std::string_view::npos) {
        std::size_t length = 0;
        while (length < run.size() && is(run[length], letter | digit))
            ++length;
        std::string_view name = run.substr(0, length);
        bool whole = length == run.size();
        bool starred = !whole && run[length] == '*' && !pspec_;
        bool keyword = find_keyword(name) != Key::None;
        bool type =
            keyword || (is(name.empty() ? '0' : name[0], letter) && is_type_(name));
        if ((whole || starred) && type) {
            pos_ += length;
            return word(std::move(token), name);
        }
        if (run.find('`') != std::string_view::npos) {
            const std::size_t begin = pos_;
            Token name = code(token);
            if (name.kind == Tok::Ident && is_type_(name.text))
                return name;
            pos_ = begin;
        }
    }
    pos_ = end;
    token.kind = Tok::ProbeSpec;
    token.text = run;
    return token;
}

Token Lexer::code(Token token)
{
    char c = peek();
    if (is(c, letter) || c == '`')
        return word(std::move(token));
    if (is(c, digit) || (c == '.' && is(peek(1), digit)))
        return number(std::move(token));
    if (c == '"' || c == '\'')
        return quoted(std::move(token));
    if (c == '@')
        return aggregation(std::move(token));
    if (c == '$')
        return macro(std::move(token));
    return punctuation(std::move(token));
}

// Reads the name of a module at the offset `begin`. Returns the offset of the backquote
// after it, or npos. A module's name may contain dots. If the name contains ".so", it
// may also contain - and +.
std::size_t Lexer::module_end(std::size_t begin) const
{
    std::size_t at = begin;
    std::size_t limit = std::min(text_.size(), begin + max_module_name);
    bool dashes = false;
    for (; at < limit; ++at) {
        bool dash = text_[at] == '-' || text_[at] == '+';
        if (!is(text_[at], letter | digit) && text_[at] != '.' && !dash)
            break;
        dashes = dashes || dash;
    }
    std::string_view name = text_.substr(begin, at - begin);
    if (at + 1 >= text_.size() || text_[at] != '`' || !is(text_[at + 1], letter))
        return std::string_view::npos;
    if (dashes && name.find(".so") == std::string_view::npos)
        return std::string_view::npos;
    return at;
}

// Reads a prefix such as "pid$target`" at the offset `end`. Returns the prefix with the
// macro's value, and sets `end` to the offset after the backquote. Returns nullopt if
// there is no such prefix.
std::optional<std::string> Lexer::process_scope(std::size_t& end, Place at)
{
    if (!text_.substr(end).starts_with("pid$"))
        return std::nullopt;
    Macros::Name name = Macros::scan(text_.substr(end + 3));
    std::size_t tick = end + 3 + name.length;
    if (name.length == 0 || tick + 1 >= text_.size() || text_[tick] != '`')
        return std::nullopt;
    end = tick + 1;
    return "pid" + macros_.value(name, at) + "`";
}

// Skips the keyword of a tag (struct, union, enum) after a scope, for example in
// "unix`struct foo". Returns the offset of the name, or `at` if there is no keyword.
std::size_t Lexer::skip_tag_keyword(std::size_t at) const
{
    for (std::string_view word : {"struct", "union", "enum"}) {
        std::size_t after = at + word.size(), name = after;
        if (!text_.substr(at).starts_with(word))
            continue;
        while (name < text_.size() && is(text_[name], blank))
            ++name;
        if (name > after && name < text_.size() && is(text_[name], letter))
            return name;
    }
    return at;
}

// Reads a word, which may have a scope: foo, `foo, unix`foo, a.out`foo, libc.so.6`foo,
// pid12`libc.so.6`foo or pid$target`struct foo.
Token Lexer::word(Token token)
{
    std::size_t end = pos_;
    std::optional<std::string> process = process_scope(end, token.at);
    const std::size_t after_process = end;
    for (;;) {
        std::size_t module = module_end(end);
        if (module == std::string_view::npos)
            break;
        end = module + 1;
    }
    bool scoped = end != pos_;
    if (scoped)
        end = skip_tag_keyword(end);
    while (end < text_.size() && is(text_[end], letter | digit))
        ++end;
    if (end == pos_) { // no name follows the backquote
        ++pos_;
        token.kind = Tok::Unknown;
        return token;
    }
    std::string_view spelled = text_.substr(pos_, end - pos_);
    pos_ = end;
    if (!scoped)
        return word(std::move(token), spelled);
    token.kind = Tok::Ident;
    token.text =
        process
            ? *process + std::string(text_.substr(after_process, end - after_process))
            : std::string(spelled);
    // Replaces a run of whitespace with one space: "struct   foo" becomes "struct foo".
    std::size_t blanks = token.text.find_first_of(" \t");
    if (blanks != std::string::npos)
        token.text.replace(blanks, token.text.find_first_not_of(" \t", blanks) - blanks,
                           " ");
    return token;
}

Token Lexer::word(Token token, std::string_view spelled) const
{
    token.key = find_keyword(spelled);
    token.kind = token.key == Key::None ? Tok::Ident : Tok::Keyword;
    token.text = spelled;
    return token;
}

// Reads a macro variable. If its value is a name or an integer, the token is a name or
// an integer. For any other value, and for $$1, the token is a string.
Token Lexer::macro(Token token)
{
    Macros::Name name = Macros::scan(text_.substr(pos_));
    if (name.length == 0) {
        ++pos_;
        token.kind = Tok::Unknown;
        return token;
    }
    pos_ += name.length;
    std::string value = macros_.value(name, token.at);
    bool is_name = !value.empty() && is(value[0], letter) &&
                   std::all_of(value.begin(), value.end(),
                               [](char c) { return is(c, letter | digit); });
    if (!name.as_string && is_name)
        return word(std::move(token), value);

    std::string_view number = value;
    if (number.starts_with('-') || number.starts_with('+'))
        number.remove_prefix(1);
    if (!name.as_string && !number.empty() && is(number[0], digit)) {
        Token integer = token;
        if (read_integer(number, integer, Tag::MACRO_OFLOW) == number.size()) {
            integer.negative = value[0] == '-';
            return integer;
        }
    }
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
        value = value.substr(1, value.size() - 2);
    token.kind = Tok::String;
    token.text = std::move(value);
    return token;
}

Token Lexer::aggregation(Token token)
{
    std::size_t begin = ++pos_;
    if (is(peek(), letter))
        while (!at_end() && is(peek(), letter | digit))
            ++pos_;
    token.kind = Tok::Aggregation;
    token.text = text_.substr(begin, pos_ - begin);
    if (token.text.empty())
        token.text = "_";
    return token;
}

bool Lexer::slash_closes_predicate() const
{
    std::size_t at = pos_ + 1;
    while (at < text_.size() && (is(text_[at], blank) || text_[at] == '\n'))
        ++at;
    return at >= text_.size() || text_[at] == ';' || text_[at] == '{' ||
           text_[at] == '/';
}

void Lexer::count_brackets(Tok kind, Place at)
{
    if (kind == Tok::LParen)
        ++parens_;
    else if (kind == Tok::RParen)
        --parens_;
    else if (kind == Tok::LBracket)
        ++brackets_;
    else if (kind == Tok::RBracket)
        --brackets_;
    else if (kind == Tok::PredicateEnd && parens_ > 0)
        fail(Tag::SYNTAX, at, "closing ) expected in predicate before /");
    else if (kind == Tok::PredicateEnd && brackets_ > 0)
        fail(Tag::SYNTAX, at, "closing ] expected in predicate before /");
}

Token Lexer::punctuation(Token token)
{
    std::string_view rest = text_.substr(pos_, 3);
    if (rest.starts_with("*/"))
        fail(Tag::SYNTAX, token.at, "*/ encountered outside a comment");
    token.kind = Tok::Unknown;
    std::size_t length = 1;
    if (predicate_open_ && rest[0] == '/' && slash_closes_predicate()) {
        token.kind = Tok::PredicateEnd;
    } else {
        for (const Punctuation& row : punctuation_table) {
            if (rest.starts_with(row.text)) {
                token.kind = row.kind;
                length = row.text.size();
                break;
            }
        }
    }
    if (predicate_open_)
        count_brackets(token.kind, token.at);
    if (token.kind == Tok::PredicateEnd)
        predicate_open_ = false;
    pos_ += length;
    return token;
}

} // namespace dt
