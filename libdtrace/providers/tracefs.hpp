// SPDX-License-Identifier: MIT
// Lists out of the kernel's tracefs.
#pragma once

#include "base/result.hpp"

#include <string>

namespace dt {

// The whole of a file there. not_found: tracefs is not mounted; permission.
Result<std::string> read_tracefs(const std::string& file);

} // namespace dt
