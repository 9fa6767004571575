// SPDX-License-Identifier: MIT
// The seed programs for fuzzing, as DOF: one with actions of every kind, one with
// speculations, and one for each case in tests/dif, even refused ones.
#pragma once

#include <vector>

namespace dif_test {

std::vector<std::vector<char>> dof_seeds();

} // namespace dif_test
