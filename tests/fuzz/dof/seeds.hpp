// SPDX-License-Identifier: MIT
// The seed programs for fuzzing, as DOF: a program with actions of every kind, a program
// with speculations, and all cases in tests/dif.
#pragma once

#include <vector>

namespace dif_test {

std::vector<std::vector<char>> dof_seeds();

} // namespace dif_test
