// SPDX-License-Identifier: MIT
// The time for which the agent waits for the threads of one address space. All waits in
// one turn of the agent's loop share this budget.
//
// Waits may nest. The time of an inner wait is counted once, as part of the outer wait.
// After the agent has given up on a target, all later turns share one short budget.
#pragma once

#include "base/clock_ns.hpp"

#include <cstdint>
#include <sys/types.h>
#include <unordered_map>

namespace dt::agent {

constexpr std::uint64_t stop_timeout_ns = 2'000'000'000;
// The shorter limit on waits for a target that did not respond within stop_timeout_ns.
constexpr std::uint64_t second_timeout_ns = 200'000'000;

class WaitBudget {
public:
    // Refills the budget if `turn` differs from the turn of the last call.
    void begin_turn(std::uint64_t turn)
    {
        if (turn != turn_)
            restart(stop_timeout_ns);
        turn_ = turn;
    }
    // Sets the budget for the rest of the turn.
    void restart(std::uint64_t limit_ns)
    {
        if (given_up_)
            return;
        limit_ns_ = limit_ns;
        spent_ns_ = 0;
        seen_.clear();
        since_ns_ = monotonic_ns();
    }
    // Sets one budget for all later turns, because the agent gives up on the target.
    void give_up(std::uint64_t limit_ns)
    {
        restart(limit_ns);
        given_up_ = true;
    }
    bool given_up() const { return given_up_; }
    std::uint64_t spent_ns() const
    {
        return spent_ns_ + (n_waits_ != 0 ? monotonic_ns() - since_ns_ : 0);
    }
    bool is_spent() const { return spent_ns() >= limit_ns_; }
    // A thread's time after the budget was spent, in ns.
    struct SinceSpent {
        std::uint64_t ran_ns = 0;    // CPU time
        std::uint64_t asleep_ns = 0; // since it last ran or was runnable
    };
    // `ran_ns` is the thread's total CPU time, and `is_runnable` is whether it runs or
    // waits for a processor now. After restart(), the first call for a thread returns
    // zeros, and later calls return the time since the first call. Must be called only
    // while the budget is spent.
    SinceSpent since_spent(pid_t tid, std::uint64_t ran_ns, bool is_runnable)
    {
        const std::uint64_t now = monotonic_ns();
        Seen& seen = seen_.try_emplace(tid, Seen{ran_ns, ran_ns, now}).first->second;
        if (is_runnable || ran_ns != seen.last_ran_ns)
            seen.runnable_at_ns = now;
        seen.last_ran_ns = ran_ns;
        return {ran_ns - seen.first_ran_ns, now - seen.runnable_at_ns};
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
    std::uint64_t limit_ns_ = stop_timeout_ns;
    std::uint64_t spent_ns_ = 0;
    // The time at which the outermost wait began or the budget was set, whichever was
    // later.
    std::uint64_t since_ns_ = 0;
    // The calls to since_spent() for a thread after restart().
    struct Seen {
        std::uint64_t first_ran_ns = 0, last_ran_ns = 0; // CPU time
        std::uint64_t runnable_at_ns = 0;                // CLOCK_MONOTONIC
    };
    std::unordered_map<pid_t, Seen> seen_;
    int n_waits_ = 0;
    bool given_up_ = false;
};

} // namespace dt::agent
