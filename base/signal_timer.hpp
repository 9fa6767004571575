// SPDX-License-Identifier: MIT
// A POSIX timer that sends a signal to the process.
#pragma once

#include <csignal>
#include <ctime>
#include <optional>

namespace dt {

// Creates a timer of CLOCK_MONOTONIC that is not armed. Returns nothing on failure.
inline std::optional<timer_t> make_signal_timer(int signal)
{
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = signal;
    timer_t made;
    return timer_create(CLOCK_MONOTONIC, &event, &made) == 0 ? std::optional(made)
                                                             : std::nullopt;
}

} // namespace dt
