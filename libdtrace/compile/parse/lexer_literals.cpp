// SPDX-License-Identifier: MIT
// Reads constants: integers with their suffixes, floating-point numbers, characters and
// strings.
//
// The escapes are those of C. An unknown escape keeps its backslash. In a string, a
// backslash before a newline removes both. In a character constant with several
// characters, the first one is in the highest byte, as in Solaris compilers.
#include "libdtrace/compile/parse/lexer.hpp"

#include "libdtrace/compile/parse/characters.hpp"

#include <algorithm>
#include <cstdlib>

namespace dt {

namespace {

int hex_digit(char c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

// Reads the suffix of an integer: u, then l once or twice. In C headers, u may also
// come after l. Returns the length of the suffix.
std::size_t read_suffix(std::string_view text, Token& token)
{
    std::size_t at = 0;
    auto read_unsigned = [&] {
        if (at < text.size() && (text[at] == 'u' || text[at] == 'U')) {
            token.unsigned_suffix = true;
            ++at;
        }
    };
    read_unsigned();
    while (at < text.size() && token.long_suffix < 2 &&
           (text[at] == 'l' || text[at] == 'L')) {
        ++token.long_suffix;
        ++at;
    }
    if (token.at.c_header && !token.unsigned_suffix)
        read_unsigned();
    return at;
}

struct Escape {
    std::string bytes;
    std::size_t length = 0; // number of characters that were read
};

Escape octal_escape(std::string_view text)
{
    unsigned value = 0;
    std::size_t at = 1;
    while (at < text.size() && at <= 3 && text[at] >= '0' && text[at] <= '7')
        value = value * 8 + static_cast<unsigned>(text[at++] - '0');
    return {std::string(1, static_cast<char>(value & 0xff)), at};
}

Escape hex_escape(std::string_view text)
{
    unsigned value = 0;
    std::size_t at = 2;
    while (at < text.size() && hex_digit(text[at]) >= 0)
        value = (value << 4 | static_cast<unsigned>(hex_digit(text[at++]))) & 0xff;
    if (at == 2)
        return {"\\x", 2};
    return {std::string(1, static_cast<char>(value)), at};
}

// Reads an escape. The text must start with a backslash and have at least one more
// character.
Escape read_escape(std::string_view text)
{
    static constexpr std::string_view letters = "abfnrtv\\\"'?";
    static constexpr std::string_view values = "\a\b\f\n\r\t\v\\\"'?";
    char c = text[1];
    if (c >= '0' && c <= '7')
        return octal_escape(text);
    if (c == 'x')
        return hex_escape(text);
    if (auto at = letters.find(c); at != std::string_view::npos)
        return {std::string(1, values[at]), 2};
    return {std::string(text.substr(0, 2)), 2};
}

} // namespace

std::size_t read_integer(std::string_view text, Token& token, Tag overflow)
{
    unsigned base = 10;
    std::size_t at = 0;
    if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X') &&
        hex_digit(text[2]) >= 0) {
        base = 16;
        at = 2;
    } else if (text[0] == '0') {
        base = 8;
    }
    std::uint64_t value = 0;
    bool overflowed = false;
    for (; at < text.size(); ++at) {
        int digit = base == 16           ? hex_digit(text[at])
                    : is_digit(text[at]) ? text[at] - '0'
                                         : -1;
        if (digit < 0)
            break;
        if (static_cast<unsigned>(digit) >= base)
            fail(Tag::INT_DIGIT, token.at,
                 "integer constant " + std::string(text.substr(0, at + 1)) +
                     " contains invalid digit " + text[at]);
        overflowed =
            overflowed || __builtin_mul_overflow(value, std::uint64_t{base}, &value) ||
            __builtin_add_overflow(value, static_cast<std::uint64_t>(digit), &value);
    }
    if (overflowed) {
        std::string what = overflow == Tag::MACRO_OFLOW ? "macro argument" : "constant";
        fail(overflow, token.at,
             what + " " + std::string(text.substr(0, std::min<std::size_t>(at, 64))) +
                 " results in integer overflow");
    }
    token.kind = Tok::Integer;
    token.value = value;
    token.decimal = base == 10 || value == 0;
    return at + read_suffix(text.substr(at), token);
}

// Reads a number. A floating-point constant has a point, or an exponent after decimal
// digits.
Token Lexer::number(Token token)
{
    std::size_t end = pos_;
    auto digits = [&] {
        while (end < text_.size() && is_digit(text_[end]))
            ++end;
    };
    auto at = [&](std::size_t i) { return i < text_.size() ? text_[i] : '\0'; };
    digits();
    bool floating = at(end) == '.' && at(end + 1) != '.';
    if (floating) {
        ++end;
        digits();
    }
    bool hex = peek() == '0' && (peek(1) == 'x' || peek(1) == 'X');
    if (!hex && (at(end) == 'e' || at(end) == 'E')) {
        std::size_t exponent = end + 1;
        exponent += at(exponent) == '+' || at(exponent) == '-';
        if (is_digit(at(exponent))) {
            floating = true;
            end = exponent;
            digits();
        }
    }
    if (!floating) {
        pos_ += read_integer(text_.substr(pos_), token, Tag::INT_OFLOW);
        return token;
    }
    token.kind = Tok::Float;
    token.text = text_.substr(pos_, end - pos_);
    token.float_value = std::strtod(token.text.c_str(), nullptr);
    if (std::string_view("fFlL").find(at(end)) != std::string_view::npos &&
        at(end) != 0)
        ++end;
    pos_ = end;
    return token;
}

Token Lexer::quoted(Token token)
{
    char quote = text_[pos_++];
    bool is_string = quote == '"';
    std::string bytes;
    for (;;) {
        if (at_end())
            fail(Tag::SYNTAX, place(),
                 std::string("end-of-file encountered before matching ") + quote);
        char c = text_[pos_];
        if (c == quote)
            break;
        if (c == '\n' && is_string)
            fail(Tag::STR_NL, token.at, "newline encountered in string literal");
        if (c == '\n')
            fail(Tag::CHR_NL, token.at, "newline encountered in character constant");
        if (std::size_t length = splice_length(pos_)) {
            pos_ += length;
            newline();
            fresh_line_ = false;
        } else if (c == '\\' && pos_ + 1 < text_.size()) {
            Escape escape = read_escape(text_.substr(pos_));
            bytes += escape.bytes;
            pos_ += escape.length;
        } else {
            bytes += c;
            ++pos_;
        }
    }
    ++pos_;
    if (is_string) {
        token.kind = Tok::String;
        token.text = std::move(bytes);
        return token;
    }
    if (bytes.empty())
        fail(Tag::CHR_NULL, token.at, "character constant cannot be empty");
    if (bytes.size() > 8)
        fail(Tag::CHR_OFLOW, token.at, "character constant is too long");
    token.kind = Tok::Char;
    if (bytes.size() == 1) // char is signed, so the value is sign-extended
        token.value = static_cast<std::uint64_t>(
            static_cast<std::int64_t>(static_cast<signed char>(bytes[0])));
    else
        for (char byte : bytes)
            token.value = token.value << 8 | static_cast<unsigned char>(byte);
    return token;
}

} // namespace dt
