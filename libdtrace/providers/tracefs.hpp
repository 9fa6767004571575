// SPDX-License-Identifier: MIT
// Reads lists from the kernel's tracefs.
#pragma once

#include "base/result.hpp"

#include <string>

namespace dt {

// Reads an entire file. Errors: Code::not_found if tracefs is not mounted,
// Code::permission if tracefs is unreadable.
Result<std::string> read_tracefs(const std::string& file);

// Reads an entire file of debugfs, at the usual mount point.
Result<std::string> read_debugfs(const std::string& file);

} // namespace dt
