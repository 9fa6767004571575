// SPDX-License-Identifier: MIT
#include "libdtrace/session/processes/ended_processes.hpp"

#include <utility>

namespace dt {

void EndedProcesses::add(pid_t pid, pid_t like, std::unique_ptr<ProcessSymbols> symbols)
{
    const Turn turn{pid, ++n_};
    all_.push_back(turn);
    if (symbols != nullptr)
        with_symbols_.push_back(turn);
    by_pid_[pid] = EndedProcess{like, std::move(symbols), turn.n};
    while (with_symbols_.size() > max_symbols) {
        if (EndedProcess* first = at(with_symbols_.front()))
            first->symbols.reset();
        with_symbols_.pop_front();
    }
    while (all_.size() > max_ended) {
        if (at(all_.front()) != nullptr)
            by_pid_.erase(all_.front().pid);
        all_.pop_front();
    }
}

const EndedProcess* EndedProcesses::find(pid_t pid) const
{
    auto known = by_pid_.find(pid);
    return known != by_pid_.end() ? &known->second : nullptr;
}

EndedProcess* EndedProcesses::at(const Turn& turn)
{
    auto known = by_pid_.find(turn.pid);
    return known != by_pid_.end() && known->second.n == turn.n ? &known->second
                                                               : nullptr;
}

} // namespace dt
