// SPDX-License-Identifier: MIT
// Messages between the agent and the process that reads call frame information.
//
//   request (rules_wanted)   the file's number, and offsets of text in the file; with a
//                            descriptor of the file if the process does not have it yet
//   request (rules_close)    the file's number; there is no reply
//   reply (rules_found)      the file's number, and an answer for each offset
//
// The process parses files of hostile targets, so the agent checks each reply.
#pragma once

#include "abi/frame_rule.h"
#include "base/message.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace dt::agent {

enum RuleWord : std::uint32_t { rules_wanted = 1, rules_close, rules_found };

// The rule for an address in the text of a file.
struct RuleAnswer {
    enum Kind : std::uint8_t {
        pending, // not received yet
        none,    // there is no rule, or a dt_rt_rule cannot express it
        guess,   // the file has no call frame information for the address
        rule,
    } kind = pending;
    dt_rt_rule how{}; // valid if the kind is `rule`; `at` is 0
};

// The maximum number of offsets in a message. A message is so small that it is sent and
// received with one system call each.
constexpr std::size_t max_wanted = 64;

struct RuleRequest {
    std::uint64_t file = 0;
    std::vector<std::uint64_t> offsets;
};

void write_request(MessageWriter& out, const RuleRequest& request);
std::optional<RuleRequest> read_request(MessageReader& in);

void write_answers(MessageWriter& out, std::uint64_t file,
                   const std::vector<RuleAnswer>& answers);
// Returns the answers to this request, in the order of its offsets. Returns nullopt if
// the message is malformed or answers another request.
std::optional<std::vector<RuleAnswer>> read_answers(MessageReader& in,
                                                    const RuleRequest& request);

} // namespace dt::agent
