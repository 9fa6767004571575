// SPDX-License-Identifier: MIT
// libdw assumes that a string in debug data ends within its section. This code ensures
// that by appending a zero byte to each section whose last byte is not zero.
#pragma once

#include <libelf.h>
#include <list>
#include <vector>

namespace dt {

// Call this before libdw reads the sections. The result owns the added memory and must
// outlive `elf`.
std::list<std::vector<char>> end_debug_sections_with_zero(Elf* elf);

} // namespace dt
