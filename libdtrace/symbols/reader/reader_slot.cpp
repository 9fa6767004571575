// SPDX-License-Identifier: MIT
#include "libdtrace/symbols/reader/reader_slot.hpp"

#include "libdtrace/symbols/debug/debug_folders.hpp"

namespace dt {

Result<ReaderProcess*> ReaderSlot::process(bool may_replace)
{
    const std::size_t n_folders = debug_folders().size();
    if (process_ && !process_->ended() && (n_folders == n_folders_ || !may_replace))
        return process_.get();
    process_.reset();
    unused.clear();
    auto started = ReaderProcess::start(serve_, limits_);
    if (!started)
        return started.error();
    process_ = std::move(*started);
    n_started_++;
    n_folders_ = n_folders;
    return process_.get();
}

} // namespace dt
