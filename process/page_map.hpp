// SPDX-License-Identifier: MIT
// Reads the state of each page of a process from /proc/PID/pagemap: whether it has
// content, and whether it is the process's own (proc_pid_pagemap(5)).
#pragma once

#include "base/fd.hpp"
#include "base/page_bytes.hpp"
#include "base/target_addr.hpp"

#include <cstdint>
#include <sys/types.h>
#include <vector>

namespace dt {

class PageState {
public:
    explicit PageState(std::uint64_t entry = 0) : entry_(entry) {}
    bool is_present() const { return (entry_ & (1ull << 63)) != 0; }
    // Returns whether the page is in memory or swapped out. Reading any other page of
    // anonymous memory yields zeros.
    bool has_content() const { return (entry_ & (1ull << 63 | 1ull << 62)) != 0; }
    // Returns whether the page is the process's own, and not a page of a file or of
    // shared memory.
    bool is_own() const
    {
        return (entry_ & 1ull << 62) != 0 || (is_present() && !is_of_file());
    }

private:
    bool is_of_file() const { return (entry_ & 1ull << 61) != 0; }

    std::uint64_t entry_;
};

class PageMap {
public:
    explicit PageMap(pid_t pid);
    // Returns the states of all pages from the page of `from` to the page of the last
    // byte. Returns an empty vector if they cannot be read.
    std::vector<PageState> pages(TargetAddr from, std::uint64_t bytes) const;

private:
    Fd file_;
};

} // namespace dt
