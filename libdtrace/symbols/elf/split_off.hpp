// SPDX-License-Identifier: MIT
// Internal to symbols/: finds the ranges of .eh_frame that are not functions but parts
// that a compiler split off from functions. A file with symbols names them NAME.cold,
// so this code is used for files without symbols.
//
// Either of two criteria identifies a part:
// - At the start of the part, the rule for the caller's stack pointer is not the one in
//   the CIE, which describes the state at a function's entry. So code outside the part
//   has already moved the stack pointer.
// - The previous range in .eh_frame is not directly before the part in the text, and
//   contains a conditional branch to the part's start. This criterion is used because
//   compilers describe the parts of a function one after the other in .eh_frame.
//
// A part that meets neither criterion is treated as a function. This happens, for
// example, if only unconditional jumps reach it after the function has removed its
// frame.
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
// address or an unknown instruction. Returns the resulting frame. `from` is the frame
// before the instructions.
CanonicalFrame at_first_address(CanonicalFrame from, Bytes instructions,
                                std::int64_t data_factor);

// Marks the parts that a branch identifies (the second criterion above). `frames` must
// be in the order that read_frames() returns.
void find_split_off(const ElfSections& file, std::vector<Frame>& frames);

} // namespace dt
