// SPDX-License-Identifier: MIT
// The size of a page in bytes, both in this process and in targets.
#pragma once

#include <cstdint>

namespace dt {

constexpr std::uint64_t page_bytes = 4096;

} // namespace dt
