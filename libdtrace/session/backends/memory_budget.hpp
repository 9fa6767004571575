// SPDX-License-Identifier: MIT
// Determines how much memory a session may use, from the limits of processes and of the
// control groups that the targets belong to.
//
// A page of the arena is charged to the control group of the process that touches it
// first. If a target in a small group touched it first, the kernel might kill processes
// of that group.
#pragma once

#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

namespace dt {

constexpr std::uint64_t no_limit = ~std::uint64_t{0};

// Returns the maximum size of files that this process may create (RLIMIT_FSIZE). This
// limit also applies to files in memory.
std::uint64_t file_size_limit();

// Returns how many more bytes a process may map (RLIMIT_AS), or no_limit. A pid of 0
// means this process.
std::uint64_t address_space_left(pid_t pid);

// Returns the number of bytes that are available without swapping (MemAvailable of
// /proc/meminfo). Returns 0 if it is unknown.
std::uint64_t available_bytes();

// Returns the number of bytes that this process can still obtain. This is the smaller
// of available_bytes() and control_group_left(0). Returns no_limit if neither is known.
std::uint64_t memory_left();

// Returns the number of bytes that this process may use for the keys and values of
// aggregations: a quarter of memory_left(), or 16 MiB if that is more.
std::uint64_t largest_aggregated_bytes();

// A mounted hierarchy of control groups in which memory is accounted.
struct MemoryHierarchy {
    std::string folder;   // where the hierarchy is mounted
    std::string root;     // the directory of the hierarchy that is mounted at `folder`
    bool unified = false; // true for version 2 of control groups
};
std::vector<MemoryHierarchy> memory_hierarchies(const std::string& mountinfo);

// Returns how many more bytes the control groups of a process and their parents allow.
// Returns no_limit if there is no limit or if it is unknown. A pid of 0 means this
// process. Supports both versions of cgroups(7).
std::uint64_t control_group_left(pid_t pid);

// Like control_group_left(pid), but takes the contents of /proc/PID/cgroup and of
// /proc/self/mountinfo.
std::uint64_t control_group_left(const std::string& groups,
                                 const std::string& mountinfo);

} // namespace dt
