// SPDX-License-Identifier: MIT
// Followed children and processes that were taken up later, after their end: what stacks
// that were recorded of them need to get names.
//
//   a child that only forked    had its parent's modules: the parent's names are its own
//   one with modules of its own the names of the last thousand are kept
//
// A server forks for each connection and is traced for weeks: what is kept is bounded, and
// addresses of those that were ended longest ago stay hexadecimal.
#pragma once

#include "libdtrace/symbols/process_symbols.hpp"

#include <cstddef>
#include <deque>
#include <memory>
#include <sys/types.h>
#include <unordered_map>

namespace dt {

struct EndedProcess {
    pid_t like = 0; // a process with the same modules; 0: none
    std::unique_ptr<ProcessSymbols> symbols;
    std::uint64_t n = 0; // the how manieth it was
};

class EndedProcesses {
public:
    static constexpr std::size_t max_ended = 65536, max_symbols = 1000;

    void add(pid_t pid, pid_t like, std::unique_ptr<ProcessSymbols> symbols);
    const EndedProcess* find(pid_t pid) const; // null: none of that pid
    std::size_t size() const { return by_pid_.size(); }

private:
    struct Turn {
        pid_t pid;
        std::uint64_t n; // another process may have the pid by now
    };
    EndedProcess* at(const Turn& turn);

    std::unordered_map<pid_t, EndedProcess> by_pid_;
    std::deque<Turn> all_, with_symbols_; // the one that ended first is first
    std::uint64_t n_ = 0;
};

} // namespace dt
