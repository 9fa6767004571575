// SPDX-License-Identifier: MIT
// Finds variables by name or address in the symbol tables.
#pragma once

#include "libdtrace/symbols/elf/elf_sections.hpp"
#include "libdtrace/symbols/elf/elf_tables.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>

namespace dt {

// Returns the link-time address of a variable that is not thread-local, or nullopt.
// Prefers a global variable. May read the entire symbol tables.
std::optional<std::uint64_t> find_data_symbol(const ElfSections& file,
                                              std::string_view name);
// Returns the variable that contains a link-time address, and the range in which no
// other variable begins or ends. Prefers a global variable. If there is none, returns the
// gap between two variables, without a name. Reads the symbol tables of all files.
DataSymbol data_symbol_at(std::span<const ElfSections* const> files,
                          std::uint64_t addr);

// The results of data_symbol_at(), so that each variable is searched for only once,
// although it may contain many addresses. Their number and their size are limited,
// because a file may contain any number of symbols.
class DataSymbols {
public:
    static constexpr std::size_t max_symbols = 16384, max_name_bytes = 1024;

    // Returns the known symbol of the address, or null.
    const DataSymbol* find(std::uint64_t addr) const;
    // Returns null if a limit is exceeded.
    const DataSymbol* add(DataSymbol symbol);

private:
    std::map<std::uint64_t, DataSymbol> by_addr_; // by DataSymbol::from
};

} // namespace dt
