// SPDX-License-Identifier: MIT
// Symbols of processes that are not traced, for example in a profile of all CPUs. Only
// the most recently used processes are kept (-x pgmax). A process without readable
// symbols is kept too, so that it is not opened again.
#pragma once

#include "libdtrace/symbols/process_symbols.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <sys/types.h>

namespace dt {

class UntracedSymbols {
public:
    static constexpr std::size_t default_limit = 8; // processes

    // The cache of images must outlive this object.
    explicit UntracedSymbols(ImageCache& images) : images_(images) {}

    // Returns the symbols of a process, or null if they could not be read.
    ProcessSymbols* find(pid_t pid);
    // Reads the symbols again. If that fails, keeps the symbols that were read before.
    Result<ProcessSymbols*> open(pid_t pid);
    // Sets the maximum number of processes (at least 1). Removes the least recently
    // used ones.
    void set_limit(std::size_t limit);

    bool keeps(pid_t pid) const { return kept_.count(pid) != 0; }

private:
    struct Kept {
        std::unique_ptr<ProcessSymbols> symbols; // null: not readable
        std::uint64_t used = 0;                  // n_uses_ at the last use
    };
    Kept& use(pid_t pid);

    ImageCache& images_;
    std::map<pid_t, Kept> kept_;
    std::size_t limit_ = default_limit;
    std::uint64_t n_uses_ = 0;
};

} // namespace dt
