// SPDX-License-Identifier: MIT
// The time for which the agent waits for the threads of one address space.
//
// All waits of one turn of the agent's loop share it, so that many threads, or many steps
// of one operation, cost no more than one. Waits may nest: the time of the inner one is part
// of the outer one's and is counted once. A target that was given up gets a short budget,
// once and for all.
#pragma once

#include "base/clock_ns.hpp"

#include <cstdint>
#include <sys/types.h>
#include <unordered_map>

namespace dt::agent {

constexpr std::uint64_t stop_patience_ns = 2'000'000'000;
constexpr std::uint64_t second_patience_ns =
    200'000'000; // where the first was not enough

class WaitBudget {
public:
    // Refills the budget if the turn is another than that of the last call.
    void begin_turn(std::uint64_t turn)
    {
        if (turn != turn_)
            restart(stop_patience_ns);
        turn_ = turn;
    }
    // Sets the budget for the rest of the turn.
    void restart(std::uint64_t limit_ns)
    {
        if (is_last_)
            return;
        limit_ns_ = limit_ns;
        spent_ns_ = 0;
        ran_ns_.clear();
        since_ns_ = monotonic_ns();
    }
    // Sets the budget for all turns to come.
    void set_last(std::uint64_t limit_ns)
    {
        restart(limit_ns);
        is_last_ = true;
    }
    std::uint64_t spent_ns() const
    {
        return spent_ns_ + (n_waits_ != 0 ? monotonic_ns() - since_ns_ : 0);
    }
    bool is_spent() const { return spent_ns() >= limit_ns_; }
    // Returns how long a thread has run since it was first looked at after the budget was
    // spent. ran_ns is the time that it has run in its life.
    std::uint64_t run_since_spent(pid_t tid, std::uint64_t ran_ns)
    {
        return ran_ns - ran_ns_.try_emplace(tid, ran_ns).first->second;
    }

    class Wait {
    public:
        explicit Wait(WaitBudget& budget) : budget_(budget)
        {
            if (budget_.n_waits_++ == 0)
                budget_.since_ns_ = monotonic_ns();
        }
        ~Wait()
        {
            const std::uint64_t spent_ns = budget_.spent_ns();
            if (--budget_.n_waits_ == 0)
                budget_.spent_ns_ = spent_ns;
        }
        Wait(const Wait&) = delete;
        Wait& operator=(const Wait&) = delete;

    private:
        WaitBudget& budget_;
    };

private:
    std::uint64_t turn_ = 0;
    std::uint64_t limit_ns_ = stop_patience_ns;
    std::uint64_t spent_ns_ = 0;
    std::uint64_t since_ns_ = 0; // when the outermost wait began, or the budget was set
    std::unordered_map<pid_t, std::uint64_t> ran_ns_; // when first looked at
    int n_waits_ = 0;
    bool is_last_ = false;
};

} // namespace dt::agent
