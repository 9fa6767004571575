// SPDX-License-Identifier: MIT
// Constants that D programs can use without any debug data, for example signals, error
// numbers and flags of open(2). The values are those of Linux, except for the states of
// processes, which are those of Solaris.
#pragma once

#include <cstdint>
#include <string_view>

namespace dt {

// Returns the value, or null if there is no such constant.
const std::int64_t* find_constant(std::string_view name);

} // namespace dt
