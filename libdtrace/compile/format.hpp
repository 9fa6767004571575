// SPDX-License-Identifier: MIT
// printf and printa formats, parsed once: the checker validates arguments against it,
// the consumer prints by it.
//
// %[flags][width][.precision][size]conversion. See format.cpp for the table of
// conversions; a conversion knows which types it takes and how it prints.
#pragma once

#include "libdtrace/compile/diagnostic.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

struct Conversion {
    std::string literal;   // text before it, %% already folded
    std::string name;      // "d", "lld", "s", "wc"; empty: only the literal (last one)
    bool alternate = false, zero = false, left = false, space = false, plus = false;
    bool group = false;    // '
    bool pointer_width = false;  // ?
    bool aggregate = false;      // @
    int width = 0;         // 0: none
    int precision = -1;    // -1: none
    bool dynamic_width = false, dynamic_precision = false;  // *
};

struct Format {
    std::string text;
    std::vector<Conversion> conversions;
};

// Throws CompileError (D_SYNTAX, D_PRINTF_FMT_EMPTY) with the place given.
Format parse_format(std::string_view text, Place at);
// For formats that come from elsewhere: nothing when it does not parse.
std::optional<Format> parse_format(std::string_view text);

}  // namespace dt
