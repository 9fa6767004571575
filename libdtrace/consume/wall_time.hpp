// SPDX-License-Identifier: MIT
// Wall-clock times in the formats of %Y and %T. Times are in ns since 1970. The time
// zone is TZ.
#pragma once

#include <cstdint>
#include <string>

namespace dt {

std::string calendar_time(std::uint64_t ns); // %Y: "2026 Nov 20 21:25:11"
std::string mail_time(std::uint64_t ns);     // %T: "Fri, 20 Nov 2026 21:25:11 UTC"

} // namespace dt
