// SPDX-License-Identifier: MIT
// Determines how much memory a session may use.
//
// A page of the arena is charged to the control group (cgroup) of the process that
// touches it first. If this is a target's group with a low memory limit, the kernel
// might kill processes of that group.
#pragma once

#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

namespace dt {

constexpr std::uint64_t no_limit = ~std::uint64_t{0};

// Returns the maximum file size (RLIMIT_FSIZE), which also applies to files in memory.
std::uint64_t file_size_limit();

// Returns how many more bytes a process may map (RLIMIT_AS), or no_limit. 0 means this
// process.
std::uint64_t address_space_left(pid_t pid);

// Returns the bytes that are available without swapping (MemAvailable), or 0 if
// unknown.
std::uint64_t available_bytes();

// Returns how many more bytes this process can obtain, or no_limit if unknown.
std::uint64_t memory_left();

// Returns the maximum size of all aggregations in bytes: a quarter of memory_left(),
// but at least 16 MiB.
std::uint64_t largest_aggregated_bytes();

// A mounted hierarchy of control groups in which memory is accounted.
struct MemoryHierarchy {
    std::string folder;   // where the hierarchy is mounted
    std::string root;     // the directory of the hierarchy that is mounted at `folder`
    bool unified = false; // true for version 2 of control groups
};
std::vector<MemoryHierarchy> memory_hierarchies(const std::string& mountinfo);

// Returns how many more bytes the control groups of a process and their parents allow,
// or no_limit if unknown. 0 means this process.
std::uint64_t control_group_left(pid_t pid);

// Takes the contents of /proc/PID/cgroup and of /proc/self/mountinfo.
std::uint64_t control_group_left(const std::string& groups,
                                 const std::string& mountinfo);

} // namespace dt
