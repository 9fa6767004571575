// SPDX-License-Identifier: MIT
// Internal to symbols/: reads landing pads from a function's exception table (LSDA).
// The handling of an exception starts at a landing pad.
#pragma once

#include "libdtrace/symbols/elf/elf_sections.hpp"
#include "libdtrace/symbols/elf/frame_functions.hpp"

#include <vector>

namespace dt {

// Appends the landing pads of the frame to `pads`, also those in split-off parts. Stops
// at the first invalid entry. `section` contains the table and is loaded at `addr`.
// Returns the number of bytes read.
std::size_t read_landing_pads(Bytes section, std::uint64_t addr, const Frame& frame,
                              std::vector<std::uint64_t>& pads);

} // namespace dt
