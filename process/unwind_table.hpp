// SPDX-License-Identifier: MIT
// All that the call frame information of a file says about its text, in a table: for those who
// walk stacks where no file can be read.
#pragma once

#include "abi/frame_rule.h"
#include "base/fd.hpp"

#include <cstdint>
#include <vector>

namespace dt {

struct UnwindRow {
    std::uint64_t offset = 0; // in the file: from there on, up to the next row's
    enum Kind : std::uint8_t {
        none, // nothing is said, or nothing that a rule can say
        rule,
        signal, // its caller was interrupted
    } kind = none;
    dt_rt_rule how{}; // of kind rule
};

// In order. Empty: the file has no call frame information.
std::vector<UnwindRow> unwind_rows(Fd file);

} // namespace dt
