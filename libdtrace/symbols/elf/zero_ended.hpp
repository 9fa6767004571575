// SPDX-License-Identifier: MIT
// libdw takes for granted that a string in debug data ends within its section. Here each
// section does: one whose last byte is not zero gets one more.
#pragma once

#include <libelf.h>
#include <list>
#include <vector>

namespace dt {

// Before libdw sees them. What is added lives in the result, which outlives `elf`.
std::list<std::vector<char>> end_debug_sections_with_zero(Elf* elf);

} // namespace dt
