// SPDX-License-Identifier: MIT
// The programs with which fuzzing begins: one clause for each case in tests/dif that
// loads, and some with actions of every kind.
#pragma once

#include <vector>

namespace dif_test {

std::vector<std::vector<char>> dof_seeds();

} // namespace dif_test
