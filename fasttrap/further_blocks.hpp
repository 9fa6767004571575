// SPDX-License-Identifier: MIT
// The code after a site that may be moved, beyond the next branch target.
#pragma once

#include <array>
#include <cstdint>

namespace dt {

// Lengths in bytes of consecutive runs of known code that each begin at a branch target and
// hold no other. 0 ends them.
using FurtherBlocks = std::array<std::uint8_t, 6>;

} // namespace dt
