// SPDX-License-Identifier: MIT
// The thread that fires tick and profile probes. A timer that is late fires once for
// each interval that has passed, but at most 10 times.
#pragma once

#include "base/result.hpp"
#include "libdtrace/providers/profile_provider.hpp"

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

namespace dt {

class TimerThread {
public:
    TimerThread() = default;
    ~TimerThread() { stop(); }
    TimerThread(const TimerThread&) = delete;
    TimerThread& operator=(const TimerThread&) = delete;

    // Starts the thread, which calls `fire` with each timer that is due.
    Result<Ok> start(std::vector<Timer> timers, std::function<void(const Timer&)> fire);
    void stop();

private:
    void run();

    std::vector<Timer> timers_;
    std::function<void(const Timer&)> fire_;
    std::atomic<bool> stopping_{false};
    int wake_fd_ = -1;
    std::thread thread_;
};

} // namespace dt
