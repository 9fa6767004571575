// SPDX-License-Identifier: MIT
// The messages between AgentClient and Agent, on a local stream socket.
//
//   message = Header, then header.bytes bytes of body; integers in native byte order
//
// Each request has exactly one reply, ok or error, and replies keep the order of the
// requests. Events may arrive between replies. File descriptors are sent with the first
// byte of their request. Both ends are the same binary, or door_name() is the same for
// both. So the messages have no version.
// Reads of a body are checked against its bounds.
#pragma once

#include "base/message.hpp"
#include "base/result.hpp"
#include "ptrace-agent/wire/client.hpp"

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace dt::agent {

// clang-format off
#define AGENT_REQUESTS(X) /* X(name); dispatched by Agent::answer() */ \
    X(set_arena) X(expect) X(create) X(grab) X(plan) X(plant) X(remove) X(resume) \
    X(resume_libraries) X(detach) X(kill) X(profile) X(follow) X(put_back) X(confine) X(release) X(tasks) X(calls)
// clang-format on

enum Word : std::uint32_t {
    word_none,
#define X(name) request_##name,
    AGENT_REQUESTS(X)
#undef X
        reply_ok,
    reply_error,
    word_event,
    word_goodbye, // the session has ended, and the agent serves other sessions
};

struct Header {
    std::uint32_t word = word_none;
    std::uint32_t bytes = 0;
    std::uint32_t n_fds = 0; // number of descriptors sent with the message
};
constexpr std::uint32_t max_body_bytes = 1u << 28;

// Returns a number that differs if the requests or their structures differ. The version of
// the arena is checked when the agent maps it.
constexpr std::uint32_t protocol_number()
{
    std::uint32_t hash = 2166136261; // FNV-1a
    auto add = [&hash](std::uint32_t value) { hash = (hash ^ value) * 16777619; };
#define X(name)                                                                        \
    for (char c : std::string_view(#name))                                             \
        add(static_cast<std::uint8_t>(c));
    AGENT_REQUESTS(X)
#undef X
    for (std::size_t n : {sizeof(Site), sizeof(ForgottenProbe), sizeof(SeenText),
                          sizeof(StaticFacts), sizeof(dt_operand), sizeof(ProfileTimer),
                          sizeof(TaskProbes), sizeof(CallProbes), sizeof(dt_rt_config)})
        add(static_cast<std::uint32_t>(n));
    return hash;
}

// Returns the name of the socket of an agent, without the first byte, which is 0. A dtrace
// of another version does not find it.
inline std::string door_name(pid_t agent)
{
    return "dtrace-agent-" + std::to_string(agent) + "-" +
           std::to_string(protocol_number());
}

static_assert(sizeof(Site) == 64 && std::is_trivially_copyable_v<Site>);
static_assert(sizeof(ForgottenProbe) == 16 &&
              std::is_trivially_copyable_v<ForgottenProbe>);
static_assert(sizeof(SeenText) == 40 && std::is_trivially_copyable_v<SeenText>);
static_assert(sizeof(StaticFacts) == 16 && std::is_trivially_copyable_v<StaticFacts>);
static_assert(sizeof(dt_operand) == 16);

// A Reply is the body of an ok reply, or the error that the client receives instead.
using Body = std::vector<std::byte>;
using Reply = Result<Body>;

using Writer = MessageWriter;
using Reader = MessageReader;

// Runs the agent in the forked process. Returns when all targets are released.
void run_agent(Fd socket);

} // namespace dt::agent
