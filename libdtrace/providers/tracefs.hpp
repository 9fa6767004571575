// SPDX-License-Identifier: MIT
// Reads files of the kernel's tracefs. If it is not mounted, root reads it through a
// mount that only this process has (fsmount(2), Linux 5.2 and later).
#pragma once

#include "base/result.hpp"

#include <string>

namespace dt {

// Reads an entire file. Errors: Code::not_found if there is no such file or tracefs is
// not mounted, Code::permission if tracefs is unreadable.
Result<std::string> read_tracefs(const std::string& file);

// Reads an entire file of debugfs, at the usual mount point.
Result<std::string> read_debugfs(const std::string& file);

} // namespace dt
