// SPDX-License-Identifier: MIT
#include "libdtrace/session/sampling/fatal_signals.hpp"

#include "process/signals.hpp"

#include <csignal>

namespace dt {

static bool stops_by_default(int signal)
{
    return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN ||
           signal == SIGTTOU;
}

void FatalSignals::generate(pid_t pid, const RecordedSignal& signal)
{
    if (!is_ignored_by_default(signal.number) && !stops_by_default(signal.number))
        generated_[pid] = signal;
}

std::optional<RecordedSignal>
FatalSignals::deliver(pid_t pid, const RecordedSignal& signal, bool has_handler)
{
    const auto generated = generated_.find(pid);
    const bool is_known = generated != generated_.end();
    if (has_handler) {
        if (is_known && generated->second.number == signal.number)
            generated_.erase(generated);
        return signal;
    }
    if (is_ignored_by_default(signal.number))
        return std::nullopt;
    if (stops_by_default(signal.number))
        return signal;
    if (signal.number == SIGKILL && !is_known)
        return std::nullopt;
    const RecordedSignal cause = is_known ? generated->second : signal;
    if (is_known)
        generated_.erase(generated);
    ended_.insert(pid);
    return cause;
}

void FatalSignals::forget(pid_t pid)
{
    generated_.erase(pid);
    ended_.erase(pid);
}

bool FatalSignals::exit(pid_t pid)
{
    generated_.erase(pid);
    return ended_.erase(pid) != 0;
}

} // namespace dt
