// SPDX-License-Identifier: MIT
// Runs the C preprocessor, cpp(1), before the D compiler (-C). The output contains line
// markers, so that errors name the file and line of the source. GCC's macros are
// defined, so that headers declare the same types as in the traced programs.
#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

// the same as _dtrace_version
constexpr std::uint32_t language_version = 1U << 24 | 13U << 12;

struct Preprocessor {
    std::string path = "cpp"; // searched in $PATH
    std::vector<std::string> define, undef, incdir;
    std::string arguments;     // more arguments for cpp, separated by spaces
    bool list_headers = false; // list headers on stderr
    // The dialect of -X: a and t are GNU C, c is ISO C, and s is pre-ISO C.
    char dialect = 'a';
    std::uint32_t version = language_version; // __SUNW_D_VERSION
};

// Returns the preprocessed text. `name` is the name of the script, or "". Errors:
// Code::not_found if there is no preprocessor, Code::invalid if the preprocessor
// rejected the text and wrote the reason to stderr. Any other error means that the
// preprocessor could not be run.
Result<std::string> preprocess(const Preprocessor& by, std::string_view text,
                               const std::string& name);

} // namespace dt
