// SPDX-License-Identifier: MIT
// Internal to symbols/: function symbols from the tables of one ELF file.
#pragma once

#include "libdtrace/symbols/elf/elf_sections.hpp"
#include "libdtrace/symbols/elf/function_table.hpp"

#include <deque>
#include <span>
#include <string>
#include <vector>

namespace dt {

// Collects the symbols of several files that describe one image. Names are views, so
// the files and the collector must outlive the symbols.
class SymbolCollector {
public:
    // Symbols outside the executable segments are dropped. Sizes that reach beyond a
    // segment are reduced.
    explicit SymbolCollector(std::span<const ElfSegment> segments) : segments_(segments)
    {
    }

    // Adds the symbols of .symtab and .dynsym. If there is no .dynsym, uses PT_DYNAMIC.
    // `what` names the file in messages.
    void add(const ElfSections& file, const std::string& what);

    std::vector<FunctionSymbol> take() { return std::move(symbols_); }
    // Returns the messages about limits that were exceeded.
    std::vector<std::string>& cuts() { return cuts_; }

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
};

} // namespace dt
