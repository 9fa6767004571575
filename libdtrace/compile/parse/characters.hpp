// SPDX-License-Identifier: MIT
// What a character is to the lexer and to macros, whatever the locale says.
#pragma once

namespace dt {

inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

} // namespace dt
