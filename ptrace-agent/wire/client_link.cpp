// SPDX-License-Identifier: MIT
#include "ptrace-agent/wire/client_link.hpp"

namespace dt::agent {

void ClientLink::send_event(const AgentEvent& event)
{
    Writer out;
    out.put(event.kind).put(event.pid).put(event.child).put(event.status);
    out.text(event.text);
    out.put(static_cast<std::uint32_t>(event.forgotten.size()));
    out.raw(event.forgotten.data(), event.forgotten.size() * sizeof(ForgottenProbe));
    mail_.send(word_event, out.body());
}

void ClientLink::say_goodbye(int longest_ms)
{
    mail_.send(word_goodbye, {});
    mail_.flush_within(longest_ms);
}

} // namespace dt::agent
