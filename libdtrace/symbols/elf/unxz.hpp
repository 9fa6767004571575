// SPDX-License-Identifier: MIT
// Internal to symbols/: unpacks .gnu_debugdata, which is a complete ELF file in xz
// format.
#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace dt {

// Returns the unpacked data. Errors: Code::corrupt if the data are not in xz format,
// Code::limit if they exceed max_bytes or if the decoder needs more than 128 MiB.
Result<std::vector<std::byte>> unxz(std::span<const std::byte> packed,
                                    std::size_t max_bytes);

} // namespace dt
