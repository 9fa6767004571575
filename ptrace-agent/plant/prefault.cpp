// SPDX-License-Identifier: MIT
// Heap is allocated, freed, and then prefaulted. malloc() returns the same pages later.
//
// MADV_POPULATE_WRITE (madvise(2), Linux 5.14) does not change the contents of pages.
// So the call is harmless even if malloc has already reused the pages. On older kernels
// the call fails, and planting is slower.
#include "ptrace-agent/plant/prefault.hpp"

#include "base/no_signals.hpp"
#include "base/page_bytes.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace dt::agent {

// Below M_MMAP_THRESHOLD, so that malloc takes the block from the heap.
constexpr std::size_t block_bytes = 16 << 20;
constexpr std::size_t part_bytes = 128 << 10; // prefaulted by one call
constexpr std::size_t max_share = 8;          // at most 1/8 of the free memory

// Returns the complete pages of a range.
static std::span<std::byte> pages_in(std::span<std::byte> bytes)
{
    std::size_t to_page = -reinterpret_cast<std::uintptr_t>(bytes.data()) % page_bytes;
    if (to_page >= bytes.size())
        return {};
    std::size_t n = bytes.size() - to_page;
    return bytes.subspan(to_page, n - n % page_bytes);
}

void Prefault::add(std::span<std::byte> other)
{
    if (auto pages = pages_in(other); !pages.empty())
        left_.insert(left_.begin(), pages);
}

void Prefault::begin(std::size_t n_bytes)
{
    left_.clear();
    struct sysinfo now {};
    if (sysinfo(&now) != 0 || n_bytes > now.freeram / max_share * now.mem_unit)
        return;
    std::vector<std::span<std::byte>> blocks;
    for (std::size_t n = n_bytes; n > page_bytes; n -= std::min(n, block_bytes)) {
        std::size_t n_block = std::min(n, block_bytes);
        auto* block = static_cast<std::byte*>(std::malloc(n_block));
        if (block == nullptr)
            break;
        blocks.emplace_back(block, n_block);
    }
    for (std::span<std::byte> block : blocks) {
        std::free(block.data());
        add(block);
    }
}

void Prefault::fault_in_some()
{
    std::span<std::byte>& block = left_.back();
    std::size_t n = std::min(block.size(), part_bytes);
    if (madvise(block.data(), n, MADV_POPULATE_WRITE) != 0)
        return left_.clear();
    block = block.subspan(n);
    if (block.empty())
        left_.pop_back();
}

void Prefault::start_thread()
{
    if (!has_more() || !is_a_processor_idle(0))
        return;
    try {
        NoSignals here;
        thread_ = std::thread([this] {
            while (has_more() && !stopped_)
                fault_in_some();
        });
    } catch (const std::exception&) { // without the thread, planting is only slower
    }
}

void Prefault::stop()
{
    stopped_ = true;
    if (thread_.joinable())
        thread_.join();
    stopped_ = false;
    left_.clear();
}

bool is_a_processor_idle(std::size_t n_clients)
{
    std::ifstream file("/proc/loadavg");
    double averages[3];
    std::size_t n_running = 0;
    for (double& average : averages)
        file >> average;
    auto n_processors = static_cast<std::size_t>(sysconf(_SC_NPROCESSORS_ONLN));
    // The number of runnable threads includes the calling thread (proc(5), loadavg).
    // Other programs must leave two processors free: one for the client or the agent,
    // and one for prefaulting.
    return file >> n_running && n_processors >= 2 &&
           n_running < n_processors + n_clients;
}

} // namespace dt::agent
