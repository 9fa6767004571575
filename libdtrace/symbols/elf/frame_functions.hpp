// SPDX-License-Identifier: MIT
// Inside of symbols/: function ranges out of .eh_frame, which stripping leaves in place.
#pragma once

#include "libdtrace/symbols/elf/elf_sections.hpp"

#include <vector>

namespace dt {

struct Frame {
    AddressRange range;
    std::uint64_t table = 0; // link-time address of its LSDA; 0: it has none
    std::uint32_t index = 0; // in .eh_frame
    bool split_off = false;  // no function, but a part of one: split_off.hpp
};

// Sorted by address, no two with the same start. Empty without a usable .eh_frame.
std::vector<Frame> read_frames(const ElfSections& file);
std::vector<AddressRange> read_frame_functions(const ElfSections& file);

} // namespace dt
