// SPDX-License-Identifier: MIT
// The agent's link to its client: requests, replies, events, and the client's exit.
#pragma once

#include "base/fd.hpp"
#include "ptrace-agent/wire/mailbox.hpp"

#include <optional>
#include <string>
#include <vector>

namespace dt::agent {

// The interval at which the agent checks for requests while it waits for a thread.
constexpr int look_again_ms = 20;

class ClientLink {
public:
    explicit ClientLink(Fd socket) : mail_(std::move(socket)) {}

    // Returns whether there may be requests to serve.
    bool rang();
    void receive() { mail_.receive(); } // reads without waiting
    std::optional<Request> next() { return mail_.next(); }
    bool has_exited() const { return mail_.closed(); }
    // Reads requests while the agent waits for a thread, and arms the timer that will
    // interrupt waitpid() again. The requests are served after the wait. Returns true
    // if the client has exited or SIGTERM was received.
    bool check_in_wait();

    void reply(std::uint32_t word, const std::vector<std::byte>& body)
    {
        mail_.send(word, body);
    }
    void send_event(const AgentEvent& event);
    void report_error(pid_t pid, std::string text);

private:
    Mailbox mail_;
    bool rang_in_wait_ = false;
};

} // namespace dt::agent
