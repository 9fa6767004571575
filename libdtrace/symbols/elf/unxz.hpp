// SPDX-License-Identifier: MIT
// Internal to symbols/: unpacks .gnu_debugdata, which is a complete ELF file in xz
// format.
#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace dt {

// Errors: corrupt if the data are not in xz format; limit if the output exceeds
// max_bytes or decoding needs more than 128 MiB.
Result<std::vector<std::byte>> unxz(std::span<const std::byte> packed,
                                    std::size_t max_bytes);

} // namespace dt
