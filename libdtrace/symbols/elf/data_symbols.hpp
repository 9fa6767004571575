// SPDX-License-Identifier: MIT
// Variables by name, from the symbol tables.
#pragma once

#include "libdtrace/symbols/elf/elf_sections.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace dt {

// The link-time address of a variable that is the same for all threads; of a global one when
// there are several of the name. The whole table is read for it.
std::optional<std::uint64_t> find_data_symbol(const ElfSections& file,
                                              std::string_view name);

} // namespace dt
