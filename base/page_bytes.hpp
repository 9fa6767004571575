// SPDX-License-Identifier: MIT
// The size of a page on x86-64, both in this process and in the target.
#pragma once

#include <cstdint>

namespace dt {

constexpr std::uint64_t page_bytes = 4096;

} // namespace dt
