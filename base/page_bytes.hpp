// SPDX-License-Identifier: MIT
// The size of a page, of ours and of the target's: that of x86-64.
#pragma once

#include <cstdint>

namespace dt {

constexpr std::uint64_t page_bytes = 4096;

} // namespace dt
