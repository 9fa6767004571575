// SPDX-License-Identifier: MIT
// Programs to begin fuzzing with: one clause per case of tests/dif that loads, and
// some with actions of every kind.
#pragma once

#include <vector>

namespace dif_test {

std::vector<std::vector<char>> dof_seeds();

} // namespace dif_test
