// SPDX-License-Identifier: MIT
// Finds variables by name in the symbol tables.
#pragma once

#include "libdtrace/symbols/elf/elf_sections.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace dt {

// Returns the link-time address of a variable that all threads share. If several have
// the name, a global one is preferred. Reads the complete table.
std::optional<std::uint64_t> find_data_symbol(const ElfSections& file,
                                              std::string_view name);

} // namespace dt
