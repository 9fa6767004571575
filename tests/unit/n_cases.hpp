// SPDX-License-Identifier: MIT
// The number of cases in tests with many cases or a very long input.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace dt::test {

// Returns whether tests should use fewer cases. ./check sets FEW_CASES for the
// sanitizers.
inline bool few_cases()
{
    return std::getenv("FEW_CASES") != nullptr;
}

// Returns n, or a tenth of n if few_cases().
inline std::uint64_t n_cases(std::uint64_t n)
{
    return few_cases() ? n / 10 : n;
}

} // namespace dt::test
