// SPDX-License-Identifier: MIT
// Threads that wait for the clients, and the limit of that wait.
//
// A thread that loads a library waits until all clients that trace its process have
// planted probes in the library. A client that sends no request for 10 s is considered
// silent, and no thread waits for it any longer. When the client sends a request, it is
// no longer silent.
//
// A silent client gets at most one report of library changes per process. This is
// enough, because the client examines all libraries when it handles a report.
#pragma once

#include "ptrace-agent/hold/tracees.hpp"
#include "ptrace-agent/wire/alarms.hpp"

namespace dt::agent {

class ClientWait {
public:
    ClientWait(Tracees& tracees, Alarms& alarms) : tracees_(tracees), alarms_(alarms) {}

    // Returns whether a session that must still answer a library change of the process
    // is not silent.
    bool is_awaited(const Process& process) const;
    // Notes that the current client has sent a request. Returns whether it was silent.
    bool begin_request();
    // Notes that the reply to the request is ready.
    void end_request();

    // Sends the event `libraries_changed` of a process. Holds the event back from a
    // client that is silent and has not answered the process's previous event.
    void report_libraries_changed(pid_t pid);
    // Sends the events that were held back. Called when the current client is no longer
    // silent.
    void report_held_back();

    // Holds a stopped thread until the clients have answered the last library change of
    // the thread's process, or until release_overdue() ends the hold.
    void hold(Thread& thread);
    // Releases the threads of a process that wait for changes that have all been
    // answered.
    void release_answered(Process& process);
    // Releases all threads of a process.
    void release_all(Process& process);
    // Releases the threads that have waited too long, and reports an error for each.
    void release_overdue();

private:
    // Ends the hold. A pending stop of the thread is handled before the thread
    // continues.
    void release(Thread& thread);
    template <class Which> void release_if(Process& process, Which which);
    bool is_unanswered(unsigned session, const Interest& interest, int change) const;
    std::uint64_t hold_ends_ns(const Thread& thread) const;
    void give_up_waiting(Thread& thread);

    Tracees& tracees_;
    Alarms& alarms_;
};

} // namespace dt::agent
