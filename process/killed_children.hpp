// SPDX-License-Identifier: MIT
// Children that were killed, but have not exited yet, because they are inside a call that
// not even SIGKILL ends. Any thread may call these functions.
#pragma once

#include <cstdint>
#include <optional>
#include <sys/types.h>

namespace dt {

// Waits until the child has exited, and returns its status (waitpid(2)). Returns nothing
// if it has not exited in time, and then leaves it to reap_killed_children(). Returns
// nothing if it has been reaped elsewhere, too.
std::optional<int> reap_within(pid_t child, std::uint64_t longest_ns);
void reap_later(pid_t child);
// Reaps the children that have exited meanwhile. Does not wait.
void reap_killed_children();

} // namespace dt
