// SPDX-License-Identifier: MIT
// Finds variables by name in the symbol tables.
#pragma once

#include "libdtrace/symbols/elf/elf_sections.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace dt {

// Returns the link-time address of a variable that is not thread-local, or nullopt.
// Prefers a global variable. May read the entire symbol tables.
std::optional<std::uint64_t> find_data_symbol(const ElfSections& file,
                                              std::string_view name);

} // namespace dt
