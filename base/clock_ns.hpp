// SPDX-License-Identifier: MIT
// Functions that read the clocks of clock_gettime(2) in nanoseconds.
#pragma once

#include <cstdint>
#include <ctime>

namespace dt {

inline std::uint64_t clock_ns(clockid_t clock)
{
    timespec now{};
    ::clock_gettime(clock, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(now.tv_nsec);
}

inline std::uint64_t monotonic_ns()
{
    return clock_ns(CLOCK_MONOTONIC);
}

} // namespace dt
