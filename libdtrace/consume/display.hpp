// SPDX-License-Identifier: MIT
// The options that control how records and aggregations are printed.
#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dt {

// clang-format off
#define DT_DISPLAY_FLAGS(X) /* X(option): false unless set */ \
    X(quiet) X(flowindent) X(rawbytes) X(temporal) X(droptags) \
    X(aggsortkey) X(aggsortrev) X(agghist) X(aggpack) X(aggzoom)
#define DT_DISPLAY_COUNTS(X) /* X(option, default) */ \
    X(stackindent, 14) X(aggsortpos, 0) X(aggsortkeypos, 0)
// clang-format on

enum class OutputForm { text, json, folded }; // described in structured.hpp

enum class DrawnIn { ascii, utf8 };

struct Display {
    OutputForm form = OutputForm::text;
    DrawnIn encoding = DrawnIn::ascii;
    bool terminal = false; // the output is a terminal
#define X(option) bool option = false;
    DT_DISPLAY_FLAGS(X)
#undef X
#define X(option, value) std::uint64_t option = value;
    DT_DISPLAY_COUNTS(X)
#undef X

    // Sets an option from the text of -x ("", "yes", "off", "3"). Returns
    // Code::not_found if the name is not one of these options.
    Result<Ok> set(std::string_view name, std::string_view value);
};

} // namespace dt
