// SPDX-License-Identifier: MIT
// The C preprocessor before the D compiler (-C): cpp(1), in a process of its own.
//
// What it gives out has the names and lines of files in it (# 1 "foo.h"), so that errors
// are told where they are. It says that it is GCC's: what headers then say in GCC's words
// about sizes and offsets is so in the programs that are traced.
#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

constexpr std::uint32_t language_version = 1U << 24 | 13U << 12; // _dtrace_version's

struct Preprocessor {
    std::string path = "cpp"; // looked for in $PATH
    std::vector<std::string> define, undef, incdir;
    std::string arguments;     // more, separated by blanks
    bool list_headers = false; // on stderr
    char dialect = 'a'; // of -X: a and t GNU's C, c ISO C, s C before there was ISO's
    std::uint32_t version = language_version; // __SUNW_D_VERSION
};

// name: of the script, "" when the text has none. Code::not_found: there is no such
// preprocessor; invalid: it refused the text, and said so on stderr; io.
Result<std::string> preprocess(const Preprocessor& by, std::string_view text,
                               const std::string& name);

} // namespace dt
