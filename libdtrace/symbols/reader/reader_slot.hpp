// SPDX-License-Identifier: MIT
// A reader process that is started when it is needed, and replaced when it has ended.
// Any thread may use a slot, while it holds the slot's mutex.
#pragma once

#include "libdtrace/symbols/reader/reader_process.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace dt {

class ReaderSlot {
public:
    using Serve = std::function<void(Fd)>;

    ReaderSlot(Serve serve, ReaderProcess::Limits limits)
        : serve_(std::move(serve)), limits_(limits)
    {
    }

    // Returns the running process, and starts one if none runs. A process knows only
    // the debug folders (debug_folders.hpp) that existed when it was started. If
    // `may_replace` is true, a process that does not know all of them is replaced.
    // Has the same errors as ReaderProcess::start().
    Result<ReaderProcess*> process(bool may_replace);
    // Numbers of files that are still open in the process, but are no longer used. The
    // next request closes them.
    std::vector<std::uint64_t> unused;
    // Returns how many processes the slot has started.
    std::uint64_t n_started() const { return n_started_; }
    std::mutex& mutex() { return mutex_; }

private:
    const Serve serve_;
    const ReaderProcess::Limits limits_;
    std::mutex mutex_;
    std::unique_ptr<ReaderProcess> process_;
    std::uint64_t n_started_ = 0;
    std::size_t n_folders_ = 0; // size of debug_folders() when process_ was started
};

} // namespace dt
