// SPDX-License-Identifier: MIT
// Keeps exited processes that the user did not name, so that addresses in their stacks
// can be symbolized.
//
// - A child that executed no other program has the same modules as its parent. The
//   parent's symbols are used for the child.
// - The symbols of any other process are kept until 1000 more such processes have
//   exited.
//
// The number of kept processes is limited. Addresses of forgotten processes are shown
// in hex.
#pragma once

#include "libdtrace/symbols/process_symbols.hpp"

#include <cstddef>
#include <deque>
#include <memory>
#include <sys/types.h>
#include <unordered_map>

namespace dt {

struct EndedProcess {
    pid_t like = 0; // a process with the same modules, or 0
    std::unique_ptr<ProcessSymbols> symbols;
    std::uint64_t n = 0; // exits are numbered, starting with 1
};

class EndedProcesses {
public:
    static constexpr std::size_t max_ended = 65536, max_symbols = 1000;

    void add(pid_t pid, pid_t like, std::unique_ptr<ProcessSymbols> symbols);
    // Returns null if no process with this pid is kept.
    const EndedProcess* find(pid_t pid) const;
    std::size_t size() const { return by_pid_.size(); }

private:
    struct Turn {
        pid_t pid;
        std::uint64_t n; // differs from EndedProcess::n if the pid was reused
    };
    EndedProcess* at(const Turn& turn);

    std::unordered_map<pid_t, EndedProcess> by_pid_;
    std::deque<Turn> all_, with_symbols_; // in the order of exits
    std::uint64_t n_ = 0;
};

} // namespace dt
