// SPDX-License-Identifier: MIT
// The blocks that a chain may move in addition to the two blocks of a pair.
#pragma once

#include <array>
#include <cstdint>

namespace dt {

// Lengths in bytes of consecutive blocks of known code. Each block begins at a branch
// target and contains no other branch target. The first 0 ends the list.
using FurtherBlocks = std::array<std::uint8_t, 6>;

} // namespace dt
