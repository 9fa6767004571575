// SPDX-License-Identifier: MIT
// Implements profile-N in targets: fires for each running thread, N times a second.
//
//   alarm -> begin_tick_if_due()
//   main loop, when no stopped thread waits -> sample_some(): examines some threads and
//                   sends PTRACE_INTERRUPT to one that is on a CPU
//                -> its stop: take_sample() fires the due probes; the thread continues
//
// A sleeping thread is not woken. Missed ticks are not repeated. A sample costs its
// thread one ptrace stop. If several sessions sample a thread at the same time, they
// share the stop.
//
// The sampling of each session uses at most 5 % of a processor for each running thread
// (rotation.hpp). So a session with a high rate does not take samples away from another
// session. Missed ticks and skipped running threads are counted, and reported when
// sampling ends.
#pragma once

#include "base/result.hpp"
#include "ptrace-agent/hold/tracees.hpp"
#include "ptrace-agent/sample/rotation.hpp"
#include "ptrace-agent/wire/alarms.hpp"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace dt::agent {

class Sampler {
public:
    Sampler(Tracees& tracees, Alarms& alarms) : tracees_(tracees), alarms_(alarms) {}

    // Replaces the timers of a session. Its sampling ends if the list is empty. Returns
    // a message if more than 1 % of the previous timers' samples were skipped, otherwise
    // an empty string.
    Result<std::string> start(unsigned session, std::span<const ProfileTimer> timers);
    void thread_added(pid_t tid);
    // Returns whether the session has timers.
    bool is_sampling(unsigned session) const;
    void begin_tick_if_due();
    // Examines some threads for one session. Returns false if nothing is left to do in
    // the current tick of any session.
    bool sample_some();
    // Fires the due probes for a thread that has stopped.
    void take_sample(Thread& thread);

private:
    struct Timer {
        ProfileTimer timer;
        std::uint64_t due = 0; // CLOCK_MONOTONIC, ns
    };
    // The sampling of one session.
    struct Sampling {
        std::vector<Timer> timers;
        std::vector<std::uint32_t> due; // probes due in this tick; empty between ticks
        Rotation rotation;              // all threads
        SampleBudget budget;
        std::uint64_t n_samples = 0, n_left_out = 0;

        // Counts the busy threads that were not examined in this tick as skipped. Only new
        // threads will be examined in the rest of the tick.
        void leave_out_known();
        // Returns a message if more than 1 % of the samples were skipped.
        std::string left_out() const;
    };
    using Samplings = std::map<unsigned, Sampling>; // key: session

    void set_alarm();
    Samplings::iterator next_due();
    bool sample_some(unsigned session, Sampling& sampling);
    bool begin_sample(unsigned session, Sampling& sampling, Thread& thread);

    Tracees& tracees_;
    Alarms& alarms_;
    Samplings samplings_;
    unsigned last_ = 0; // the session for which threads were examined last
};

} // namespace dt::agent
