// SPDX-License-Identifier: MIT
// Internal to symbols/: the places in a function where exceptions land, from its LSDA.
#pragma once

#include "libdtrace/symbols/elf/elf_sections.hpp"
#include "libdtrace/symbols/elf/frame_functions.hpp"

#include <vector>

namespace dt {

// section: the bytes that contain the frame's table, loaded at `addr`. Appends the
// landing pads in the function's range or in another part of it. Stops at the first
// invalid entry of a table. Returns the number of bytes that were read.
std::size_t read_landing_pads(Bytes section, std::uint64_t addr, const Frame& frame,
                              std::vector<std::uint64_t>& pads);

} // namespace dt
