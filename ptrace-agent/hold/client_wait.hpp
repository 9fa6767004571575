// SPDX-License-Identifier: MIT
// Threads that wait for the client, and the limit of that wait.
//
// A thread that loads a library waits until the client has planted probes in the
// library, but at most 10 s. After 10 s, the client is considered silent. No thread
// waits for a silent client. When the client sends a request, it is no longer silent.
//
// A silent client gets at most one report of library changes per process. This is
// enough, because the client examines all libraries when it handles a report.
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

    // Returns whether the client is silent: it did not answer in time, and has sent no
    // request since then.
    bool is_silent() const { return silent_; }
    // Notes that the client has sent a request. Returns whether it was silent.
    bool begin_request();
    // Notes that the reply to the request is ready.
    void end_request();

    // Sends the event `libraries_changed` of a process. Holds the event back if the
    // client is silent and has not answered the process's previous event.
    void report_libraries_changed(pid_t pid);
    // Sends the events that were held back. Called when the client is no longer silent.
    void report_held_back();

    // Holds a stopped thread until the client has answered the last library change of
    // the thread's process, or until release_overdue() ends the hold.
    void hold(Thread& thread);
    // Releases the threads of a process that wait for an answer to `change` or to an
    // earlier change. If `change` is nullopt, releases all threads.
    void release_of(Process& process, std::optional<int> change);
    // Releases the threads that have waited too long, and reports an error for each.
    void release_overdue();

private:
    // Ends the hold. A pending stop of the thread is handled before the thread
    // continues.
    void release(Thread& thread);

    Tracees& tracees_;
    ClientLink& client_;
    Alarms& alarms_;
    std::uint64_t last_request_ns_ = 0; // monotonic
    bool silent_ = false;
};

} // namespace dt::agent
