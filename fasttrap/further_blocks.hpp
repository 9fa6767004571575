// SPDX-License-Identifier: MIT
// The blocks that a chain may move, after the one that a pair may move.
#pragma once

#include <array>
#include <cstdint>

namespace dt {

// Lengths in bytes of consecutive blocks of known code. Each begins at a branch target
// and contains no other. The first 0 ends the list.
using FurtherBlocks = std::array<std::uint8_t, 6>;

} // namespace dt
