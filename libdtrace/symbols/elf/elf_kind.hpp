// SPDX-License-Identifier: MIT
// Internal to symbols/: determines from the dynamic section what kind of program a file
// is.
#pragma once

#include "libdtrace/symbols/elf/elf_sections.hpp"

#include <string>

namespace dt {

// Returns PT_INTERP. Empty if there is none.
std::string interpreter_of(const ElfSections& file);
ElfKind kind_of(const ElfSections& file, const std::string& interpreter);

} // namespace dt
