// SPDX-License-Identifier: MIT
// The times at which the agent's main loop must act even if nothing else happens. The
// earliest time interrupts waitpid().
#pragma once

#include "base/clock_ns.hpp"
#include "ptrace-agent/wire/mailbox.hpp"

#include <array>
#include <cstdint>

namespace dt::agent {

class Alarms {
public:
    enum Reason : std::uint8_t {
        sampling,      // a sample is due
        silent_client, // a thread has waited too long for the client
        full_queue,    // a signal queue was full, and the signal must be sent again
        uprobes,       // the text of the jumps is compared (UprobeWatch)
        left_sessions, // the memory of ended sessions is unmapped (Releaser)
        attendance,    // idle targets are released, and released ones are examined
        self_tracing,  // the agent detaches from a program that traces itself
        n_reasons,
    };

    // Sets the CLOCK_MONOTONIC time of an alarm. The time 0 turns the alarm off.
    void set(Reason reason, std::uint64_t when_ns)
    {
        at_[reason] = when_ns;
        std::uint64_t next = 0;
        for (std::uint64_t each : at_)
            next = sooner(next, each);
        Mailbox::ring_at(next);
    }
    void set_if_unset(Reason reason, std::uint64_t when_ns)
    {
        set(reason, is_set(reason) ? at_[reason] : when_ns);
    }
    bool is_set(Reason reason) const { return at_[reason] != 0; }
    bool is_due(Reason reason) const
    {
        return is_set(reason) && monotonic_ns() >= at_[reason];
    }

private:
    std::array<std::uint64_t, n_reasons> at_{};
};

} // namespace dt::agent
