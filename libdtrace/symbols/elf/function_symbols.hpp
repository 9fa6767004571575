// SPDX-License-Identifier: MIT
// Inside of symbols/: function symbols out of the tables of one ELF file.
#pragma once

#include "libdtrace/symbols/elf/elf_sections.hpp"
#include "libdtrace/symbols/elf/function_table.hpp"

#include <deque>
#include <span>
#include <string>
#include <vector>

namespace dt {

// Collects symbols of several files that describe one image. Names are views into the
// ElfSections given and into the collector's own copies: both must outlive the table.
class SymbolCollector {
public:
    // `segments`: those of the image. A symbol outside its executable ones is dropped, and
    // a size that leaves them is cut.
    explicit SymbolCollector(std::span<const ElfSegment> segments) : segments_(segments)
    {
    }

    // .symtab and .dynsym, or without section headers what PT_DYNAMIC points to.
    void add(const ElfSections& file, const std::string& what);

    std::vector<FunctionSymbol> take() { return std::move(symbols_); }
    std::vector<std::string>& notes() { return notes_; }
    std::vector<std::string>& cuts() { return cuts_; } // those notes that name a limit

private:
    struct Table {
        Bytes symbols, strings, versions;
    };
    void add_section(const ElfSections& file, const ElfSection& section,
                     const std::string& what);
    void add_dynamic(const ElfSections& file, const std::string& what);
    void add_table(const Table& table, const std::string& what);
    Bytes keep(Result<std::vector<std::byte>> bytes);

    std::span<const ElfSegment> segments_;
    std::vector<FunctionSymbol> symbols_;
    std::deque<std::vector<std::byte>> kept_;
    std::vector<std::string> cuts_;
    std::vector<std::string> notes_;
};

} // namespace dt
