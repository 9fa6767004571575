// SPDX-License-Identifier: MIT
// Which threads profile-N looks at, and how much time that may take.
//
//   tick ──> begin() ──> next() ... seen() ──> running: sampled, stays busy
//                                         └──> asleep: idle after so many looks
//
// Looking at a thread costs some microseconds, so not all of thousands of threads can
// be examined in each tick. Threads that ran recently, the busy ones, are examined
// first, each once in a tick. In the remaining time idle threads are examined, and the
// next tick continues after the last of them. In every eighth tick an idle thread comes
// first, so that busy threads cannot prevent new ones from being found.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <sys/types.h>

namespace dt::agent {

class Rotation {
public:
    enum class Found { running, asleep, unknown };

    void add(pid_t tid) { idle_.push_back({tid, 0}); }
    void begin(); // begins a tick
    // Returns the next thread of this tick, or nothing when all were examined. The
    // caller then calls seen(), unless the thread has exited.
    std::optional<pid_t> next();
    void seen(Found found);
    std::size_t n_busy() const { return busy_.size(); }
    std::size_t n_busy_left() const { return n_busy_left_; }

private:
    struct Entry {
        pid_t tid;
        std::uint8_t n_asleep; // looks since it ran
    };
    std::optional<pid_t> take(std::deque<Entry>& from, std::size_t& n_left);

    std::deque<Entry> busy_, idle_;
    std::size_t n_busy_left_ = 0, n_idle_left_ = 0; // of this tick
    unsigned n_ticks_ = 0;
    Entry current_{};
    bool was_busy_ = false, idle_first_ = false;
};

// A budget: sampling earns a share of the time that passes, and stops when it has used
// that up.
class SampleBudget {
public:
    // n_running: the number of threads over which the cost is spread.
    bool may_spend(std::uint64_t now_ns, std::size_t n_running);
    void spend(std::uint64_t ns) { left_ns_ -= static_cast<std::int64_t>(ns); }

private:
    static constexpr std::uint64_t percent = 5;
    static constexpr std::int64_t most_ns = 5'000'000; // saved up, for each thread

    std::uint64_t earned_at_ns_ = 0;
    std::int64_t left_ns_ = most_ns;
};

} // namespace dt::agent
