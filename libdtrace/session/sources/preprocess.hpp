// SPDX-License-Identifier: MIT
// Runs the C preprocessor, cpp(1), before the D compiler (-C). It runs in a separate
// process.
//
// The output contains line markers (# 1 "foo.h"), so that errors are reported with the
// file and line of the source. The preprocessor defines GCC's macros, so that headers
// declare the same sizes and offsets as in the traced programs.
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

// Returns the preprocessed text. `name` is the name of the script, or "" if the text is
// not from a script. If the preprocessor does not exist, the error is not_found. If it
// rejected the text, the error is invalid, and the preprocessor has written the reason
// to stderr. Any other error means that the preprocessor could not be run, or that its
// input or output file failed.
Result<std::string> preprocess(const Preprocessor& by, std::string_view text,
                               const std::string& name);

} // namespace dt
