// SPDX-License-Identifier: MIT
// Checks of fuzz targets.
#pragma once

#include <cstdlib>

namespace dt::fuzz {

// Aborts if the condition is false. libFuzzer then reports the input.
inline void require(bool holds)
{
    if (!holds)
        std::abort();
}

} // namespace dt::fuzz
