// SPDX-License-Identifier: MIT
// Makes text that comes from a target safe for a terminal.
//
// Control characters could make the terminal send input as if it came from the
// keyboard. Each byte of a control character is replaced with a backslash and three
// octal digits (\ooo). The escaped bytes are:
//   - bytes below 0x20, and 0x7f
//   - the C1 controls U+0080 to U+009F in UTF-8; U+009B has the same effect as ESC [
//   - bytes that are not UTF-8, because an 8-bit terminal treats the byte 0x9b as ESC [
// Escaping selects whether newlines, tabs and backslashes are also escaped.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dt {

enum class Escaping {
    None,    // for text of the D program itself, and for output to files and pipes
    Strings, // for strings: newlines, tabs and backslashes are left unchanged
    Names    // for names: newlines, tabs and backslashes are escaped
};

// Returns the number of bytes of the UTF-8 character at the start of text, which must
// not be empty. Returns 0 if the bytes are not valid UTF-8.
std::size_t utf8_length(std::string_view text);

// Appends text with control characters escaped.
void append_printable(std::string& out, std::string_view text, Escaping escaping);
std::string printable(std::string_view text, Escaping escaping);

} // namespace dt
