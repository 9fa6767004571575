// SPDX-License-Identifier: MIT
// Inside of symbols/: what sort of program a file is, by its dynamic section.
#pragma once

#include "libdtrace/symbols/elf/elf_sections.hpp"

#include <string>

namespace dt {

// PT_INTERP, empty when there is none.
std::string interpreter_of(const ElfSections& file);
ElfKind kind_of(const ElfSections& file, const std::string& interpreter);

} // namespace dt
