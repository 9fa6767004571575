// SPDX-License-Identifier: MIT
// The agent's link to its client: requests, replies, events, and the client's exit.
#pragma once

#include "base/fd.hpp"
#include "ptrace-agent/wire/mailbox.hpp"

#include <optional>
#include <string>
#include <vector>

namespace dt::agent {

constexpr int look_again_ms = 20; // interval of the checks during a wait

class ClientLink {
public:
    explicit ClientLink(Fd socket) : mail_(std::move(socket)) {}

    // Returns whether there may be requests to serve.
    bool rang();
    void receive() { mail_.receive(); } // reads without waiting
    std::optional<Request> next() { return mail_.next(); }
    bool has_exited() const { return mail_.closed(); }
    // Reads requests during a wait for a thread, and allows waitpid() to be interrupted
    // again. The requests are served later: the next rang() returns true. Returns
    // whether the client has exited.
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
