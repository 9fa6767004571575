// SPDX-License-Identifier: MIT
// The globs of probe descriptions: * ? [abc] [a-z] [!abc] and backslash.
//
// Patterns match bytes. The time is at most proportional to the pattern's length times
// the text's length. A malformed pattern (unclosed class, backslash at the end) matches
// nothing.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace dt {

bool glob_match(std::string_view glob, std::string_view text);
bool is_glob(std::string_view pattern); // true if it has a special character
bool glob_valid(std::string_view glob);

// Returns the index after the character class that starts at glob[at] with '['. Returns
// nullopt if the class is not closed.
std::optional<std::size_t> class_end(std::string_view glob, std::size_t at);

} // namespace dt
