// SPDX-License-Identifier: MIT
// The loop of the timer thread.
#include "libdtrace/session/backends/timer_thread.hpp"

#include "base/clock_ns.hpp"
#include "base/no_signals.hpp"

#include <cstdint>
#include <poll.h>
#include <sys/eventfd.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace dt {

Result<Ok> TimerThread::start(std::vector<Timer> timers,
                              std::function<void(const Timer&)> fire)
{
    if (timers.empty())
        return Ok{};
    timers_ = std::move(timers);
    fire_ = std::move(fire);
    stopping_ = false;
    wake_fd_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wake_fd_ < 0)
        return errno_error("create the timer thread's eventfd");
    int refused = 0;
    try {
        NoSignals here;
        thread_ = std::thread([this] { run(); });
    } catch (const std::system_error& error) {
        refused = error.code().value();
    }
    if (refused == 0)
        return Ok{};
    ::close(std::exchange(wake_fd_, -1));
    return errno_error("start the timer thread", refused);
}

void TimerThread::stop()
{
    if (!thread_.joinable())
        return;
    stopping_ = true;
    std::uint64_t one = 1;
    // The counter of the eventfd cannot overflow, because this is the only write.
    (void)!::write(wake_fd_, &one, sizeof one);
    thread_.join();
    ::close(std::exchange(wake_fd_, -1));
}

void TimerThread::run()
{
    constexpr std::uint64_t max_burst = 10;
    std::uint64_t start = monotonic_ns();
    std::vector<std::uint64_t> due;
    for (const Timer& timer : timers_)
        due.push_back(start + timer.interval_ns);
    while (!stopping_) {
        std::uint64_t next = due[0];
        for (std::uint64_t at : due)
            next = at < next ? at : next;
        std::uint64_t now = monotonic_ns();
        if (next > now) {
            std::uint64_t wait = next - now;
            timespec timeout{static_cast<time_t>(wait / 1'000'000'000),
                             static_cast<long>(wait % 1'000'000'000)};
            pollfd wake{wake_fd_, POLLIN, 0};
            ::ppoll(&wake, 1, &timeout, nullptr);
            continue;
        }
        for (std::size_t i = 0; i < timers_.size(); i++) {
            const Timer& timer = timers_[i];
            if (due[i] <= now && (now - due[i]) / timer.interval_ns >= max_burst)
                due[i] = now - (max_burst - 1) * timer.interval_ns;
            for (; due[i] <= now && !stopping_; due[i] += timer.interval_ns)
                fire_(timer);
        }
    }
}

} // namespace dt
