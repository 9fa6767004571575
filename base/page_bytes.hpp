// SPDX-License-Identifier: MIT
// The size of a page, here and in the target: that of x86-64.
#pragma once

#include <cstdint>

namespace dt {

constexpr std::uint64_t page_bytes = 4096;

} // namespace dt
