// SPDX-License-Identifier: MIT
#include "libdtrace/session/processes/untraced_symbols.hpp"

#include "libdtrace/session/debug.hpp"
#include "libdtrace/session/error_prefix.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace dt {

ProcessSymbols* UntracedSymbols::find(pid_t pid)
{
    const bool known = keeps(pid);
    Kept& kept = use(pid);
    if (!known)
        if (auto opened = ProcessSymbols::open(pid, images_))
            kept.symbols = std::move(*opened);
    return kept.symbols.get();
}

Result<ProcessSymbols*> UntracedSymbols::open(pid_t pid)
{
    Kept& kept = use(pid);
    auto opened = ProcessSymbols::open(pid, images_);
    if (!opened)
        return without_prefix("symbols of " + std::to_string(pid), opened.error());
    kept.symbols = std::move(*opened);
    return kept.symbols.get();
}

void UntracedSymbols::set_limit(std::size_t limit)
{
    limit_ = limit;
    auto earlier = [](const auto& a, const auto& b) {
        return a.second.used < b.second.used;
    };
    while (kept_.size() > limit_) {
        auto oldest = std::min_element(kept_.begin(), kept_.end(), earlier);
        debug("freeing the symbols of process %d", oldest->first);
        kept_.erase(oldest);
    }
}

UntracedSymbols::Kept& UntracedSymbols::use(pid_t pid)
{
    Kept& kept = kept_[pid];
    kept.used = ++n_uses_;
    set_limit(limit_); // keeps this process
    return kept;
}

} // namespace dt
