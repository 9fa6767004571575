// SPDX-License-Identifier: MIT
#include "ptrace-agent/sessions.hpp"

#include <algorithm>
#include <utility>

namespace dt::agent {

AgentSession* Sessions::add(ClientLink client, SessionSet taken, pid_t guest_pid)
{
    for (const auto& session : all_)
        taken.set(session->number);
    for (unsigned number = 0; number < max_sessions; number++) {
        if (taken.test(number))
            continue;
        all_.push_back(
            std::make_unique<AgentSession>(number, std::move(client), guest_pid));
        return all_.back().get();
    }
    return nullptr;
}

std::size_t Sessions::n_guests() const
{
    return static_cast<std::size_t>(
        std::count_if(all_.begin(), all_.end(),
                      [](const auto& session) { return session->is_guest(); }));
}

void Sessions::remove(unsigned number)
{
    std::erase_if(all_, [number](const auto& each) { return each->number == number; });
}

AgentSession* Sessions::find(unsigned number) const
{
    auto found = std::find_if(all_.begin(), all_.end(), [number](const auto& each) {
        return each->number == number;
    });
    return found != all_.end() ? found->get() : nullptr;
}

bool Sessions::rang()
{
    return std::exchange(rang_in_wait_, false) || Mailbox::rang();
}

void Sessions::receive()
{
    for (const auto& session : all_)
        session->client.receive();
}

void Sessions::receive_for_later()
{
    receive();
    rang_in_wait_ = true;
}

bool Sessions::check_in_wait()
{
    if (Mailbox::rang())
        receive_for_later();
    Mailbox::ring_in_ms(look_again_ms);
    return has_exited();
}

bool Sessions::has_exited() const
{
    return current_ != nullptr ? current_->client.has_exited() : all_exited();
}

bool Sessions::all_exited() const
{
    return std::all_of(all_.begin(), all_.end(), [](const auto& session) {
        return session->client.has_exited();
    });
}

AgentSession* Sessions::first_exited() const
{
    auto found = std::find_if(all_.begin(), all_.end(), [](const auto& session) {
        return session->client.has_exited();
    });
    return found != all_.end() ? found->get() : nullptr;
}

void Sessions::send_event(SessionSet to, const AgentEvent& event)
{
    for (const auto& session : all_)
        if (to.test(session->number))
            session->client.send_event(event);
}

} // namespace dt::agent
