// SPDX-License-Identifier: MIT
// While one lives, this thread takes no signals, and a thread started meanwhile never
// takes any: they are for the thread that waits for them.
#pragma once

#include <signal.h>

namespace dt {

class NoSignals {
public:
    NoSignals()
    {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    NoSignals(const NoSignals&) = delete;
    NoSignals& operator=(const NoSignals&) = delete;

private:
    sigset_t before_;
};

} // namespace dt
