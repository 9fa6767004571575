// SPDX-License-Identifier: MIT
#include "ptrace-agent/memory_ahead.hpp"

#include <algorithm>
#include <fstream>
#include <unistd.h>

namespace dt::agent {

constexpr std::size_t part_bytes = 128 << 10; // less than M_MMAP_THRESHOLD
constexpr std::size_t page_bytes = 4096;

void MemoryAhead::begin(std::size_t n_bytes)
{
    n_wanted_ = std::max(n_wanted_, n_bytes);
}

void MemoryAhead::get_some()
{
    auto part = std::make_unique_for_overwrite<std::byte[]>(part_bytes);
    for (std::size_t at = 0; at < part_bytes; at += page_bytes)
        static_cast<volatile std::byte&>(part[at]) = std::byte{1};
    parts_.push_back(std::move(part));
    n_got_ += part_bytes;
    if (!wants_more())
        end();
}

void MemoryAhead::end()
{
    parts_.clear();
    n_wanted_ = n_got_ = 0;
}

// proc(5), loadavg tells how many want one now, us among them.
bool is_a_processor_idle(std::size_t n_clients)
{
    std::ifstream file("/proc/loadavg");
    double averages[3];
    std::size_t n_running = 0;
    for (double& average : averages)
        file >> average;
    auto n_processors = static_cast<std::size_t>(sysconf(_SC_NPROCESSORS_ONLN));
    // One of the client's threads, which is to be served, and we need two.
    return file >> n_running && n_processors >= 2 &&
           n_running <= n_processors + n_clients - 1;
}

} // namespace dt::agent
