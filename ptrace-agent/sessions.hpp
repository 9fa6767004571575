// SPDX-License-Identifier: MIT
// The sessions that the agent serves. A session belongs to one client, which is a
// dtrace process. It has an arena, in which its probes fire.
//
//   dtrace A ──┐                    ┌── Session 0: link to A, arena of A
//   dtrace B ──┴──> Door, sockets ──┴── Session 1: link to B, arena of B
//
// The agent serves one request at a time. While it does so, the request's session is
// the current one.
#pragma once

#include "ptrace-agent/inject/arena_map.hpp"
#include "ptrace-agent/runtime/runtime.h"
#include "ptrace-agent/wire/client_link.hpp"

#include <bitset>
#include <cstdint>
#include <memory>
#include <vector>

namespace dt::agent {

constexpr unsigned max_sessions = DT_RT_MAX_SESSIONS;
using SessionSet = std::bitset<max_sessions>;

struct AgentSession {
    AgentSession(unsigned of, ClientLink link, pid_t guest)
        : number(of), guest_pid(guest), client(std::move(link))
    {
    }
    // Returns whether the session belongs to another user (hold/guests.hpp).
    bool is_guest() const { return guest_pid != 0; }

    const unsigned number; // index in dt_rt_config::sessions
    const pid_t guest_pid; // the client's process id if it is a guest, otherwise 0
    ClientLink client;
    ArenaMap arena;
    CallProbes call_probes;
    std::uint64_t last_request_ns = 0; // monotonic
    // Whether the client did not answer in time, and has sent no request since then.
    bool silent = false;
    // Whether the agent detaches from idle targets (attendance.hpp).
    bool releases = false;
};

class Sessions {
public:
    // Adds a session for a client. `taken` contains the numbers that some target still
    // uses. `guest_pid` is 0 if the client is not a guest. Returns null if all numbers are
    // in use.
    AgentSession* add(ClientLink client, SessionSet taken = {}, pid_t guest_pid = 0);
    std::size_t n_guests() const;
    void remove(unsigned number);
    const std::vector<std::unique_ptr<AgentSession>>& all() const { return all_; }
    AgentSession* find(unsigned number) const;

    // Returns the session of the request that the agent is serving. There must be one.
    AgentSession& current() const { return *current_; }
    bool is_serving() const { return current_ != nullptr; }
    void set_current(AgentSession* session) { current_ = session; }

    // Returns whether there may be requests to serve.
    bool rang();
    void ring_again() { rang_in_wait_ = true; } // rang() then returns true
    void receive();                             // reads requests, without waiting
    // Does the same as receive(), but rang() then returns true. Used inside a request.
    void receive_for_later();
    // Reads requests while the agent waits for a thread, and arms the timer that will
    // interrupt waitpid() again. The requests are served after the wait. Returns
    // has_exited().
    bool check_in_wait();
    // Returns true if no client needs the result of the current work. Inside a request,
    // this means that the session's client has exited. Between requests, it means that
    // all clients have exited. Also returns true after SIGTERM.
    bool has_exited() const;
    // Returns whether all clients have exited, or SIGTERM was received.
    bool all_exited() const;
    // Returns a session after its client has exited, or null.
    AgentSession* first_exited() const;

    void send_event(SessionSet to, const AgentEvent& event);

private:
    std::vector<std::unique_ptr<AgentSession>> all_;
    AgentSession* current_ = nullptr;
    bool rang_in_wait_ = false;
};

} // namespace dt::agent
