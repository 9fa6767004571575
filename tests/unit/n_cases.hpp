// SPDX-License-Identifier: MIT
// The number of cases of tests that repeat something many times, or that use a very long
// input.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace dt::test {

// Returns n, or a tenth of n if the environment variable FEW_CASES is set. ./check sets
// it for the sanitizers, with which these tests take ten times as long. The sanitizers
// find invalid memory accesses also with fewer cases.
inline std::uint64_t n_cases(std::uint64_t n)
{
    return std::getenv("FEW_CASES") != nullptr ? n / 10 : n;
}

} // namespace dt::test
