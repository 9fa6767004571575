// SPDX-License-Identifier: MIT
// Inside of symbols/: where exceptions land in a function, out of its LSDA.
#pragma once

#include "libdtrace/symbols/elf/elf_sections.hpp"
#include "libdtrace/symbols/elf/frame_functions.hpp"

#include <vector>

namespace dt {

// section: the bytes that hold the frame's table, loaded at `addr`. Appends the landing
// pads that lie in the function's range or in another part of it; a table that lies is
// left where it begins to. Returns the number of bytes that were read.
std::size_t read_landing_pads(Bytes section, std::uint64_t addr, const Frame& frame,
                              std::vector<std::uint64_t>& pads);

} // namespace dt
