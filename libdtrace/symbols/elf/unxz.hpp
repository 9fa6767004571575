// SPDX-License-Identifier: MIT
// Inside of symbols/: unpacking .gnu_debugdata, which is a whole ELF file in xz.
#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace dt {

// corrupt: not xz. limit: unpacks to more than max_bytes, or wants over 128 MiB of memory.
Result<std::vector<std::byte>> unxz(std::span<const std::byte> packed,
                                    std::size_t max_bytes);

} // namespace dt
