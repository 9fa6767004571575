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
// Returns the variable that contains a link-time address. Prefers a global variable. If
// there is none, returns the gap between two variables, without a name. Reads the entire
// symbol tables of the files.
DataSymbol data_symbol_at(std::span<const ElfSections* const> files,
                          std::uint64_t addr);

// The variables and gaps that were found. Each is searched for only once, although a
// variable may contain many addresses.
class DataSymbols {
public:
    // Returns the known variable or gap that contains the address, or null.
    const DataSymbol* find(std::uint64_t addr) const;
    const DataSymbol* add(DataSymbol symbol);

private:
    std::map<std::uint64_t, DataSymbol> by_addr_;
};

} // namespace dt
