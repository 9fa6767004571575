// SPDX-License-Identifier: MIT
// Reads the messages that an agent sends to its client.
//
// The agent may be a program of another user, which can send anything. So each function
// checks every value, and uses memory only in proportion to the size of the message.
#pragma once

#include "ptrace-agent/wire/protocol.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dt::agent {

// Returns false if the message is malformed. Does not accept AgentEvent::agent_gone,
// because only the client itself creates this event.
bool read_event(std::span<const std::byte> body, AgentEvent& event);

// Reads the reply to a request for n_sites sites. Returns false if it is malformed.
bool read_plans(std::span<const std::byte> body, std::size_t n_sites,
                std::vector<SitePlan>& plans);
bool read_report(std::span<const std::byte> body, std::size_t n_sites,
                 PlantReport& report);

// Returns the error that the agent has sent. If the message is malformed, returns
// Code::corrupt.
Error read_error(std::span<const std::byte> body);

// Makes a text from an agent of another user safe for a terminal, and shortens a long
// one.
std::string safe_text(std::string_view text);

} // namespace dt::agent
