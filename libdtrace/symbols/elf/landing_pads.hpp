// SPDX-License-Identifier: MIT
// Internal to symbols/: reads the landing pads of a function from the function's
// exception table (LSDA). The handling of an exception starts at a landing pad.
#pragma once

#include "libdtrace/symbols/elf/elf_sections.hpp"
#include "libdtrace/symbols/elf/frame_functions.hpp"

#include <vector>

namespace dt {

// Appends to `pads` the address of every landing pad in the frame's exception table,
// including pads in a split-off part of the function. Stops at the first invalid entry.
// `section` contains the table and is loaded at `addr`. Returns the number of bytes
// that were read.
std::size_t read_landing_pads(Bytes section, std::uint64_t addr, const Frame& frame,
                              std::vector<std::uint64_t>& pads);

} // namespace dt
