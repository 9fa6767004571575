// SPDX-License-Identifier: MIT
// Blocks all signals in the calling thread while the object exists. A thread that is
// created during this time inherits the signal mask.
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
