// SPDX-License-Identifier: MIT
// Constants that every D program knows without any debug data: signals, errno names, open
// flags, states of processes, address families, faults. The numbers are Linux's.
#pragma once

#include <cstdint>
#include <string_view>

namespace dt {

// Returns null if there is no constant of that name.
const std::int64_t* find_constant(std::string_view name);

} // namespace dt
