// SPDX-License-Identifier: MIT
// Reads files of /proc as values. Nothing is cached; a process that went away
// meanwhile gives empty answers.
#pragma once

#include "base/fd.hpp"
#include "base/target_addr.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace dt {

std::string proc_path(pid_t pid, std::string_view file);
std::string read_proc_file(pid_t pid, std::string_view file, std::size_t max = 1 << 16);
std::string read_proc_link(pid_t pid, std::string_view file); // "" when unreadable

// A line "Name:\tvalue" of a status file; "" when there is none.
std::string status_field(const std::string& status, std::string_view name);
// Its n-th number (from 0); bases as strtoull's.
std::uint64_t status_number(const std::string& status, std::string_view name, int n = 0,
                            int base = 10);

// The status file of one thread.
std::string thread_status(pid_t pid, pid_t tid);

// State letter of a thread ('R', 'S', 'D', 'Z', ...), 0 when it has exited.
char thread_state(pid_t pid, pid_t tid);

// Returns how many ns a thread has run on a processor (schedstat). Returns 0 if the kernel does
// not count that.
std::uint64_t thread_run_ns(pid_t pid, pid_t tid);

// Waits in the kernel within execve(2) or execveat(2).
bool is_in_exec(pid_t pid, pid_t tid);

std::vector<pid_t> threads_of(pid_t pid);

// Returns whether a thread of the process has a shadow stack (x86_Thread_features,
// Linux 6.6).
bool has_shadow_stack(pid_t pid);

// A value of the auxiliary vector (AT_ENTRY, AT_PHDR, ...).
std::optional<std::uint64_t> auxv_value(pid_t pid, std::uint64_t type);

} // namespace dt
