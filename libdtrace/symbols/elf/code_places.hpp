// SPDX-License-Identifier: MIT
// The text of an image, and every place in it that a table of the file refers to. Code
// that moves instructions must know all possible jump targets. All addresses are
// link-time addresses.
//
// The sources are:
// - all symbols, including labels and the symbols of debug files
// - .eh_frame, and the exception landing pads (LSDA, in .gcc_except_table)
#pragma once

#include "libdtrace/symbols/elf/function_table.hpp"

#include <cstdint>
#include <vector>

namespace dt {

class ParsedElf;

struct CodePlaces {
    std::vector<AddressRange> text;       // executable, ascending
    std::vector<AddressRange> data;       // all other loaded ranges, except .eh_frame
    std::vector<std::uint64_t> functions; // start addresses, ascending
    std::vector<std::uint64_t> labels;    // other addresses of code, ascending
    std::vector<std::uint64_t> symbols;   // addresses of code or data, ascending
    std::vector<AddressRange> sized;      // functions with known ends, sorted by start
    // values of relocations that are addresses in text, ascending
    std::vector<std::uint64_t> relocated;
    std::vector<AddressRange> restartable; // rseq critical sections (__rseq_cs)
    bool absolute = false;                 // the file is linked to fixed addresses
};

// Reads the places of an image. The time is limited by the file's size and by
// elf_limits.
CodePlaces read_code_places(ParsedElf& image);

} // namespace dt
