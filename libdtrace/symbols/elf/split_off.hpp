// SPDX-License-Identifier: MIT
// Internal to symbols/: finds the ranges of .eh_frame that are not functions, but parts
// that a compiler split off. In a file with symbols, such a part is named NAME.cold.
//
// Either of two criteria identifies a part:
// - The rule for the caller's stack pointer at the part's start differs from the rule
//   in the CIE. This means that other code has already moved the stack pointer.
// - The previous range in .eh_frame is not directly before the part in the text, and
//   contains a conditional branch to the part's start. Compilers list the parts of a
//   function together.
//
// A part that meets neither criterion is treated as a function.
#pragma once

#include "libdtrace/symbols/elf/frame_functions.hpp"

#include <libelf.h>

namespace dt {

// The rule that gives the caller's stack pointer.
struct CanonicalFrame {
    std::uint64_t reg = ~0ULL;
    std::int64_t offset = 0;
    bool by_expression = false;
    bool operator==(const CanonicalFrame&) const = default;
};

// Executes call frame instructions (DWARF 5, 6.4.2) up to the first advance of the
// address. `from` is the frame before the instructions.
CanonicalFrame at_first_address(CanonicalFrame from, Bytes instructions,
                                std::int64_t data_factor);

// Marks the parts that a branch identifies (the second criterion). `frames` must be in
// the order of read_frames().
void find_split_off(const ElfSections& file, std::vector<Frame>& frames);

} // namespace dt
