// SPDX-License-Identifier: MIT
// Reads lists from the kernel's tracefs.
#pragma once

#include "base/result.hpp"

#include <algorithm>
#include <string>
#include <string_view>

namespace dt {

// Reads a complete file. Errors: not_found if tracefs is not mounted, permission if
// tracefs is unreadable.
Result<std::string> read_tracefs(const std::string& file);

// Reads a complete file of debugfs, at the usual mount point.
Result<std::string> read_debugfs(const std::string& file);

// Calls take() for each line of a list, without its newline.
template <class F> void each_line(std::string_view list, F take)
{
    while (!list.empty()) {
        std::string_view line = list.substr(0, list.find('\n'));
        list.remove_prefix(std::min(line.size() + 1, list.size()));
        take(line);
    }
}

} // namespace dt
