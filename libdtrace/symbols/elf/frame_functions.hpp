// SPDX-License-Identifier: MIT
// Internal to symbols/: reads the ranges of functions from .eh_frame, which stripped
// files still contain.
#pragma once

#include "libdtrace/symbols/elf/elf_sections.hpp"

#include <vector>

namespace dt {

struct Frame {
    AddressRange range;
    // link-time address of the range's exception table (LSDA); 0 if there is none
    std::uint64_t table = 0;
    std::uint32_t index = 0; // position among the frames of .eh_frame
    bool split_off = false;  // the range is a part of a function (split_off.hpp)
};

// Returns the frames, sorted by address. No two frames start at the same address.
std::vector<Frame> read_frames(const ElfSections& file);
// Returns only the ranges of these frames.
std::vector<AddressRange> read_frame_functions(const ElfSections& file);

} // namespace dt
