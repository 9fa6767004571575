// SPDX-License-Identifier: MIT
// Where the text of an image is, and every place in it that a table of the file names.
//
// Who moves instructions must know where somebody may jump to. Symbols of any type
// count, aliases and labels in the middle of a function too, also those of debug files;
// then the ranges of .eh_frame, and by the tables of the languages (LSDA, in
// .gcc_except_table) where exceptions land. All addresses are link-time ones.
#pragma once

#include "libdtrace/symbols/elf/elf_image.hpp"

#include <cstdint>
#include <vector>

namespace dt {

struct CodePlaces {
    std::vector<AddressRange> text;       // executable, ascending
    std::vector<AddressRange> data;       // what else the file loads, but .eh_frame
    std::vector<std::uint64_t> functions; // where one starts; ascending
    std::vector<std::uint64_t> labels;    // other places of code, ascending
    std::vector<std::uint64_t> symbols;   // places of code or of data, ascending
    std::vector<AddressRange> sized; // functions whose end is known, by their start
    std::vector<std::uint64_t> relocated;  // values of relocations that lie in text
    std::vector<AddressRange> restartable; // rseq critical sections (__rseq_cs)
    bool absolute = false;                 // linked to run at these addresses
};

// Bounded by the file's size and elf_limits.
CodePlaces read_code_places(ElfImage& image);

} // namespace dt
