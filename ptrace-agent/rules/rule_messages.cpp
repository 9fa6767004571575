// SPDX-License-Identifier: MIT
#include "ptrace-agent/rules/rule_messages.hpp"

namespace dt::agent {

void write_request(MessageWriter& out, const RuleRequest& request)
{
    out.put(request.file).list(request.offsets);
}

std::optional<RuleRequest> read_request(MessageReader& in)
{
    RuleRequest request;
    request.file = in.get<std::uint64_t>();
    request.offsets = in.list<std::uint64_t>();
    return in.complete() ? std::optional(std::move(request)) : std::nullopt;
}

void write_answers(MessageWriter& out, std::uint64_t file,
                   const std::vector<RuleAnswer>& answers)
{
    out.put(file).put<std::uint64_t>(answers.size());
    for (const RuleAnswer& answer : answers)
        out.put(static_cast<std::uint8_t>(answer.kind))
            .put(answer.how.cfa)
            .put(answer.how.rbp)
            .put(answer.how.from)
            .put(answer.how.rbp_from);
}

static bool is_valid(const RuleAnswer& answer)
{
    if (answer.kind != RuleAnswer::rule)
        return answer.kind == RuleAnswer::none || answer.kind == RuleAnswer::guess;
    return answer.how.from <= DT_RT_FROM_AT_RBP &&
           (answer.how.rbp_from == DT_RT_FROM_NONE ||
            answer.how.rbp_from == DT_RT_FROM_RBP ||
            answer.how.rbp_from == DT_RT_FROM_CFA);
}

std::optional<std::vector<RuleAnswer>> read_answers(MessageReader& in,
                                                    const RuleRequest& request)
{
    if (in.get<std::uint64_t>() != request.file ||
        in.get<std::uint64_t>() != request.offsets.size())
        return std::nullopt;
    std::vector<RuleAnswer> answers(request.offsets.size());
    for (RuleAnswer& answer : answers) {
        answer.kind = static_cast<RuleAnswer::Kind>(in.get<std::uint8_t>());
        answer.how.cfa = in.get<dt_s32>();
        answer.how.rbp = in.get<dt_s16>();
        answer.how.from = in.get<dt_u8>();
        answer.how.rbp_from = in.get<dt_u8>();
        if (!is_valid(answer))
            return std::nullopt;
    }
    return in.complete() ? std::optional(std::move(answers)) : std::nullopt;
}

} // namespace dt::agent
