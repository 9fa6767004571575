// SPDX-License-Identifier: MIT
// The agent's link to one client: requests, replies, events, and the client's exit.
#pragma once

#include "base/fd.hpp"
#include "ptrace-agent/wire/mailbox.hpp"

#include <optional>
#include <vector>

namespace dt::agent {

// The interval at which the agent checks for requests while it waits for a thread.
constexpr int look_again_ms = 20;

class ClientLink {
public:
    // `max_bytes` is the limit of Mailbox.
    explicit ClientLink(Fd socket,
                        std::size_t max_bytes = std::size_t{max_body_bytes} + (1 << 20))
        : mail_(std::move(socket), max_bytes)
    {
    }

    void receive() { mail_.receive(); } // reads without waiting
    std::optional<Request> next() { return mail_.next(); }
    bool has_next() const { return mail_.has_next(); }
    // Returns whether the client has exited or has ended its session. Also true after
    // SIGTERM.
    bool has_exited() const { return mail_.closed(); }

    void reply(std::uint32_t word, const std::vector<std::byte>& body)
    {
        mail_.send(word, body);
    }
    void send_event(const AgentEvent& event);
    // Reports to the client that its session has ended, although the agent does not exit.
    // Waits up to this time until the client has read everything.
    void say_goodbye(int longest_ms);

private:
    Mailbox mail_;
};

} // namespace dt::agent
