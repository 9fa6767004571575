// SPDX-License-Identifier: MIT
// Threads that wait for the client, and a client that does not answer.
//
// A thread that loads a library waits until the client has planted probes in it. The
// client may itself be stopped, or block on a full pipe. So the thread waits for 10 s at
// most and then continues, without probes in the library. From then on no thread waits
// until the client has sent a request. PeriodicTask one change of the libraries is reported
// and later ones are not: the client examines all libraries when it handles the report.
#pragma once

#include "ptrace-agent/hold/tracees.hpp"
#include "ptrace-agent/wire/alarms.hpp"
#include "ptrace-agent/wire/client_link.hpp"

#include <optional>

namespace dt::agent {

class ClientWait {
public:
    ClientWait(Tracees& tracees, ClientLink& client, Alarms& alarms)
        : tracees_(tracees), client_(client), alarms_(alarms)
    {
    }

    // Returns whether the client has not answered in time, so that no thread waits for it.
    bool is_silent() const { return silent_; }
    // The client has sent a request. Returns what is_silent() was before.
    bool begin_request();
    void end_request(); // the client's answer is ready

    // Sends the event that the libraries of a process have changed. If the client is
    // silent and has not answered an earlier event, the report is held back.
    void report_libraries_changed(pid_t pid);
    void report_held_back(); // when the client answers again

    // Keeps a stopped thread until the client has answered the last change of its process.
    void hold(Thread& thread);
    // Releases the threads that wait for an answer to this change or to an earlier one;
    // without a change, all held threads.
    void release_of(Process& process, std::optional<int> change);
    void release_overdue(); // the threads that have waited too long

private:
    // Resumes the thread, after its stop is handled if that is still to be done.
    void release(Thread& thread);

    Tracees& tracees_;
    ClientLink& client_;
    Alarms& alarms_;
    std::uint64_t last_request_ns_ = 0; // monotonic
    bool silent_ = false;
};

} // namespace dt::agent
