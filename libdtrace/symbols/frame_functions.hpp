// SPDX-License-Identifier: MIT
// Inside of symbols/: function ranges out of .eh_frame, which stripping leaves in place.
#pragma once

#include "libdtrace/symbols/elf_sections.hpp"

#include <vector>

namespace dt {

// Sorted by address, no two with the same start. Empty without a usable .eh_frame.
std::vector<AddressRange> read_frame_functions(const ElfSections& file);

} // namespace dt
