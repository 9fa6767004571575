// SPDX-License-Identifier: MIT
// Checks of fuzz targets.
#pragma once

#include <cstdlib>

namespace dt::fuzz {

// Ends the process if the condition is false, which libFuzzer reports.
inline void require(bool holds)
{
    if (!holds)
        std::abort();
}

} // namespace dt::fuzz
