// SPDX-License-Identifier: MIT
// How much memory the kernel lets a session use: the limits of the process, and those
// of the control groups that the targets are in.
//
// A page of the arena is charged to the control group of the process that touches it
// first. If that were a target in a small group, the kernel might kill processes of
// that group.
#pragma once

#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

namespace dt {

constexpr std::uint64_t no_limit = ~std::uint64_t{0};

// Returns the largest size that this process may give a file (RLIMIT_FSIZE). It also
// limits files in memory.
std::uint64_t file_size_limit();

// Returns how many more bytes a process may map (RLIMIT_AS).
std::uint64_t address_space_left(pid_t pid);

// Returns the bytes that the machine can give without swapping (MemAvailable of
// /proc/meminfo). Returns 0 if that is unknown.
std::uint64_t available_bytes();

// Returns how much memory this process may use for the keys and values of aggregations:
// a quarter of what the machine and its control groups have left, at least 16 MiB.
std::uint64_t largest_aggregated_bytes();

// A mounted hierarchy of control groups that accounts memory.
struct MemoryHierarchy {
    std::string folder;   // where it is mounted
    std::string root;     // the folder of the hierarchy that is mounted there
    bool unified = false; // version 2
};
std::vector<MemoryHierarchy> memory_hierarchies(const std::string& mountinfo);

// Returns the bytes that the control groups of a process and their parents have left.
// Returns no_limit if there is no limit, or if nothing is known. Both versions of
// cgroups(7) are read.
std::uint64_t control_group_left(pid_t pid);

// Returns the same from the texts of /proc/PID/cgroup and /proc/self/mountinfo.
std::uint64_t control_group_left(const std::string& groups,
                                 const std::string& mountinfo);

} // namespace dt
