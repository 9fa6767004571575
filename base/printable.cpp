// SPDX-License-Identifier: MIT
#include "base/printable.hpp"

#include <algorithm>

namespace dt {

std::size_t utf8_length(std::string_view text)
{
    auto byte = [&](std::size_t n) { return static_cast<unsigned char>(text[n]); };
    const unsigned first = byte(0);
    const std::size_t n = first < 0x80                    ? 1
                          : first >= 0xc2 && first < 0xe0 ? 2
                          : first >= 0xe0 && first < 0xf0 ? 3
                          : first >= 0xf0 && first < 0xf5 ? 4
                                                          : 0;
    if (n == 0 || text.size() < n)
        return 0;
    for (std::size_t i = 1; i < n; i++)
        if ((byte(i) & 0xc0) != 0x80)
            return 0;
    const bool overlong =
        (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
    const bool surrogate = first == 0xed && byte(1) >= 0xa0;
    const bool too_large = first == 0xf4 && byte(1) >= 0x90;
    return overlong || surrogate || too_large ? 0 : n;
}

static bool stays(std::string_view character, Escaping escaping)
{
    const auto first = static_cast<unsigned char>(character[0]);
    if (character.size() == 2) // escape U+0080 to U+009F
        return first != 0xc2 || static_cast<unsigned char>(character[1]) >= 0xa0;
    if (character.size() > 2)
        return true;
    if (escaping == Escaping::Strings && (first == '\n' || first == '\t'))
        return true;
    if (escaping == Escaping::Names && first == '\\')
        return false;
    return first >= 0x20 && first < 0x7f;
}

// Returns the number of bytes at the start of text that are never escaped.
static std::size_t plain_length(std::string_view text)
{
    const auto end = std::find_if_not(text.begin(), text.end(), [](char c) {
        return c >= 0x20 && c < 0x7f && c != '\\';
    });
    return static_cast<std::size_t>(end - text.begin());
}

static void append_octal(std::string& out, std::string_view bytes)
{
    for (char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        out += '\\';
        for (int shift = 6; shift >= 0; shift -= 3)
            out += static_cast<char>('0' + ((byte >> shift) & 7));
    }
}

void append_printable(std::string& out, std::string_view text, Escaping escaping)
{
    if (escaping == Escaping::None) {
        out.append(text);
        return;
    }
    while (!text.empty()) {
        // Nearly all text is plain ASCII, which is copied at once.
        const std::size_t plain = plain_length(text);
        out.append(text.substr(0, plain));
        text.remove_prefix(plain);
        if (text.empty())
            return;
        const std::size_t length = utf8_length(text);
        const std::string_view character = text.substr(0, length == 0 ? 1 : length);
        if (length != 0 && stays(character, escaping))
            out.append(character);
        else
            append_octal(out, character);
        text.remove_prefix(character.size());
    }
}

std::string printable(std::string_view text, Escaping escaping)
{
    std::string out;
    append_printable(out, text, escaping);
    return out;
}

} // namespace dt
