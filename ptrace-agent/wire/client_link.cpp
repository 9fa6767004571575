// SPDX-License-Identifier: MIT
#include "ptrace-agent/wire/client_link.hpp"

#include <utility>

namespace dt::agent {

bool ClientLink::rang()
{
    return std::exchange(rang_in_wait_, false) || Mailbox::rang();
}

bool ClientLink::check_in_wait()
{
    if (Mailbox::rang()) {
        mail_.receive();
        rang_in_wait_ = true;
    }
    Mailbox::ring_in_ms(look_again_ms);
    return mail_.closed();
}

void ClientLink::send_event(const AgentEvent& event)
{
    Writer out;
    out.put(event.kind).put(event.pid).put(event.child).put(event.status);
    out.text(event.text);
    out.put(static_cast<std::uint32_t>(event.forgotten.size()));
    out.raw(event.forgotten.data(), event.forgotten.size() * sizeof(ForgottenProbe));
    mail_.send(word_event, out.body());
}

void ClientLink::report_error(pid_t pid, std::string text)
{
    AgentEvent event;
    event.kind = AgentEvent::agent_error;
    event.pid = pid;
    event.text = std::move(text);
    send_event(event);
}

} // namespace dt::agent
