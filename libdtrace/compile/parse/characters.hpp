// SPDX-License-Identifier: MIT
// Character classes for the lexer and for macros. They do not depend on the locale.
#pragma once

namespace dt {

inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

} // namespace dt
