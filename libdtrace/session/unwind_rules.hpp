// SPDX-License-Identifier: MIT
// The unwind rules of a file in the form that the kernel module uses
// (struct dtk_unwind_rule).
#pragma once

#include "abi/ioctl.h"
#include "process/unwind_table.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace dt {

// Converts the rows of a file. The rules are sorted by offset. Code at offsets of 4 GiB
// or more has no rules.
std::vector<dtk_unwind_rule> compact_rules(std::span<const UnwindRow> rows);
// Returns the rule for an offset in the file, or null. `rules` must be sorted by offset.
const dtk_unwind_rule* find_rule(std::span<const dtk_unwind_rule> rules,
                                 std::uint64_t offset);

} // namespace dt
