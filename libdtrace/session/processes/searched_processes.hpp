// SPDX-License-Identifier: MIT
// Symbols of the processes that are searched for static probes, except targets. If a
// process becomes a target, its symbols move to its ps_prochandle, so that probes in
// the process stay valid.
#pragma once

#include "libdtrace/symbols/process_symbols.hpp"

#include <map>
#include <memory>
#include <sys/types.h>
#include <utility>

namespace dt {

class SearchedProcesses {
public:
    // The cache of images must outlive this object.
    explicit SearchedProcesses(ImageCache& images) : images_(images) {}

    // Returns the current symbols of a process, and keeps them. The error is
    // Code::permission if this user may not search the process.
    Result<ProcessSymbols*> read(pid_t pid)
    {
        auto known = by_pid_.find(pid);
        if (known != by_pid_.end() && known->second->refresh())
            return known->second.get();
        auto opened = ProcessSymbols::open(pid, images_);
        if (!opened) {
            by_pid_.erase(pid);
            return opened.error();
        }
        auto& symbols = by_pid_[pid];
        symbols = std::move(*opened);
        return symbols.get();
    }

    // Removes the current symbols of a process from this object, and returns them.
    // Returns null if the process was not searched, or can no longer be read.
    std::unique_ptr<ProcessSymbols> take(pid_t pid)
    {
        auto taken = by_pid_.extract(pid);
        if (!taken || !taken.mapped()->refresh())
            return nullptr;
        return std::move(taken.mapped());
    }

private:
    ImageCache& images_;
    std::map<pid_t, std::unique_ptr<ProcessSymbols>> by_pid_;
};

} // namespace dt
