// SPDX-License-Identifier: MIT
// The globs of probe descriptions: * ? [abc] [a-z] [!abc] and backslash.
//
// Bytes, not characters. Time is bounded by pattern length times text length: only the
// last star is ever taken back. A malformed pattern (open class, backslash at the end)
// matches nothing; glob_valid() lets the compiler say so.
#pragma once

#include <string_view>

namespace dt {

bool glob_match(std::string_view glob, std::string_view text);
bool is_glob(std::string_view pattern); // has a special character
bool glob_valid(std::string_view glob);

} // namespace dt
