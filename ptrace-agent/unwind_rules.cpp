// SPDX-License-Identifier: MIT
#include "ptrace-agent/unwind_rules.hpp"

#include "process/call_frames.hpp"
#include "process/regular_file.hpp"

namespace dt::agent {

std::optional<StackPlace> caller_by(const dt_rt_rule& rule, const StackPlace& place,
                                    const ReadWord& read)
{
    StackPlace caller;
    if (rule.from == DT_RT_FROM_NONE ||
        (rule.from == DT_RT_FROM_GUESS && place.bp == 0))
        return caller;
    if (rule.from == DT_RT_FROM_GUESS) {
        caller.sp = place.sp + 16;
        if (!read(place.bp, caller.bp) || !read(place.bp + 8, caller.pc) ||
            place.bp - place.sp > DT_RT_GUESS_REACH)
            return std::nullopt;
        return caller;
    }
    auto offset = static_cast<std::uint64_t>(std::int64_t{rule.cfa});
    std::uint64_t cfa = (rule.from == DT_RT_FROM_RSP ? place.sp : place.bp) + offset;
    if (rule.from == DT_RT_FROM_AT_RBP && !read(cfa, cfa))
        return std::nullopt;
    caller.sp = cfa;
    caller.bp = place.bp;
    if (!read(cfa - 8, caller.pc))
        return std::nullopt;
    std::uint64_t base = rule.rbp_from == DT_RT_FROM_CFA ? cfa : place.bp;
    if (rule.rbp_from != DT_RT_FROM_NONE &&
        !read(base + static_cast<std::uint64_t>(std::int64_t{rule.rbp}), caller.bp))
        return std::nullopt;
    return caller;
}

UnwindRules::UnwindRules(pid_t pid, RuleReader& reader)
    : pid_(pid), reader_(reader), mappings_(mappings_of(pid))
{
}

std::optional<dt_rt_rule> UnwindRules::rule_at(TargetAddr at)
{
    const Mapping* text = find_mapping(mappings_, at);
    if (text == nullptr || !text->executable)
        return std::nullopt;
    RuleAnswer answer{RuleAnswer::guess, {}};
    if (!text->path.empty() && text->path[0] == '/') {
        std::weak_ptr<RuleReader::File>& object = objects_[text->path];
        if (object.expired())
            object = reader_.open(open_mapped(mapped_name(pid_, *text),
                                              CallFrames::max_file_bytes,
                                              FileSystems::local));
        answer = reader_.rule_at(*object.lock(), at - text->begin + text->offset);
    }
    if (answer.kind == RuleAnswer::guess)
        answer.how.from = DT_RT_FROM_GUESS;
    else if (answer.kind != RuleAnswer::rule)
        return std::nullopt;
    answer.how.at = at.value;
    return answer.how;
}

} // namespace dt::agent
