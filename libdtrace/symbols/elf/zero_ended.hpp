// SPDX-License-Identifier: MIT
// libdw assumes that a string in debug data ends within its section. So this code
// appends a zero byte to each section that does not end with one.
#pragma once

#include <libelf.h>
#include <list>
#include <vector>

namespace dt {

// Must be called before libdw reads the sections. The result owns the added memory and
// must outlive `elf`.
std::list<std::vector<char>> end_debug_sections_with_zero(Elf* elf);

} // namespace dt
