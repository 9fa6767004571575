// SPDX-License-Identifier: MIT
// Classes of characters for the lexer and for macros, independent of the locale.
#pragma once

namespace dt {

inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

} // namespace dt
