// SPDX-License-Identifier: MIT
// The seed programs for fuzzing, as DOF. There is one with actions of every kind, one
// with speculations, and a one-clause program for each case in tests/dif, including the
// cases that the verifier refuses.
#pragma once

#include <vector>

namespace dif_test {

std::vector<std::vector<char>> dof_seeds();

} // namespace dif_test
