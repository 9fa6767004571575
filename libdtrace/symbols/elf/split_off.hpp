// SPDX-License-Identifier: MIT
// Inside of symbols/: which ranges of .eh_frame are no functions but parts that a compiler
// split off, for a file that has no symbols to tell (NAME.cold).
//
// Two things tell a part. Its call frame information does not begin as its CIE does, which
// says how things are where a function is called: somebody has moved the stack pointer
// before. Or the range before it in .eh_frame, which does not stand before it in the text,
// has a conditional branch to its beginning: compilers describe a function's parts one
// after the other. What neither tells (a part that is only jumped to, after the frame was
// taken down) passes for a function.
#pragma once

#include "libdtrace/symbols/elf/frame_functions.hpp"

#include <libelf.h>

namespace dt {

// Where the caller's stack pointer is.
struct CanonicalFrame {
    std::uint64_t reg = ~0ULL;
    std::int64_t offset = 0;
    bool by_expression = false;
    bool operator==(const CanonicalFrame&) const = default;
};

// What call frame instructions (DWARF 5, 6.4.2) make of it before they continue to another
// address. Of instructions that are not known: what those before them say.
CanonicalFrame at_first_address(CanonicalFrame from, Bytes instructions,
                                std::int64_t data_factor);

// Marks what branches tell; frames: as read_frames() has them.
void find_split_off(const ElfSections& file, std::vector<Frame>& frames);

} // namespace dt
