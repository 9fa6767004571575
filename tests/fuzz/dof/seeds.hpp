// SPDX-License-Identifier: MIT
// The seed programs for fuzzing, as DOF. One has actions of every kind, and one has
// speculations. There is also one for each case in tests/dif, even if the verifier
// refuses it.
#pragma once

#include <vector>

namespace dif_test {

std::vector<std::vector<char>> dof_seeds();

} // namespace dif_test
