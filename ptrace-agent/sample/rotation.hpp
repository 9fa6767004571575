// SPDX-License-Identifier: MIT
// Decides which threads profile-N examines, and how much time that may take.
//
//   tick ──> begin() ──> next() ... seen() ──> running: is sampled, becomes busy
//                                         └──> asleep: becomes idle after 64 times
//
// A tick is too short to examine thousands of threads. Busy threads, which ran
// recently, are examined first, once per tick. Then new threads are examined, because any
// of them may be running. Idle threads are examined in the remaining time, one after the
// other. In every eighth tick an idle thread is examined first, so that the agent always
// finds threads that start to run.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <sys/types.h>

namespace dt::agent {

class Rotation {
public:
    enum class Found { running, asleep, unknown };

    void add(pid_t tid) { new_.push_back({tid, 0}); }
    void begin(); // begins a tick
    // Returns the next thread of this tick, or nothing once all have been examined. The
    // caller reports the thread's state with seen(), unless the thread has exited.
    std::optional<pid_t> next();
    void seen(Found found);
    // Returns whether next() would return a thread that was never examined.
    bool is_new_next() const
    {
        return !new_.empty() && n_busy_left_ == 0 &&
               !(idle_first_ && n_idle_left_ != 0);
    }
    // In this tick, next() will return only new threads.
    void skip_known() { n_busy_left_ = n_idle_left_ = 0; }
    std::size_t n_busy() const { return busy_.size(); }
    std::size_t n_busy_left() const { return n_busy_left_; }

private:
    struct Entry {
        pid_t tid;
        std::uint8_t n_asleep; // times found asleep since it last ran
    };
    pid_t take(std::deque<Entry>& from, std::size_t& n_left);

    std::deque<Entry> new_, busy_, idle_;
    std::size_t n_busy_left_ = 0, n_idle_left_ = 0; // to be examined in this tick
    unsigned n_ticks_ = 0;
    Entry current_{};
    bool was_busy_ = false, idle_first_ = false;
};

// The time that sampling may take. The budget grows by a percentage of the elapsed
// time, and sampling pauses while the budget is exhausted.
class SampleBudget {
public:
    // Returns whether there is time left. The budget grows in proportion to n_running,
    // the number of running threads.
    bool may_spend(std::uint64_t now_ns, std::size_t n_running);
    void spend(std::uint64_t ns) { left_ns_ -= static_cast<std::int64_t>(ns); }

private:
    static constexpr std::uint64_t percent = 5;
    static constexpr std::int64_t most_ns =
        5'000'000; // maximum budget in ns for each running thread

    std::uint64_t earned_at_ns_ = 0;
    std::int64_t left_ns_ = most_ns;
};

} // namespace dt::agent
