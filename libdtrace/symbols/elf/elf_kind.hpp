// SPDX-License-Identifier: MIT
// Internal to symbols/: determines the kind of an ELF file from its dynamic section.
#pragma once

#include "libdtrace/symbols/elf/elf_sections.hpp"

#include <string>

namespace dt {

// Returns the interpreter that PT_INTERP names, or "" if there is none.
std::string interpreter_of(const ElfSections& file);
ElfKind kind_of(const ElfSections& file, const std::string& interpreter);

} // namespace dt
