// SPDX-License-Identifier: MIT
// Rules of the stack (struct dt_rt_rule) from the call frame information of the files
// that a process has mapped.
//
// A rule has room for what nearly all code does: the CFA is %rsp or %rbp plus a number,
// or a word on the stack; %rbp is untouched or saved on the stack; the return address is
// under the CFA. Expressions that come down to this at one place (those of a PLT) are
// worked out. Text that has none, as of code made at run time or of Go, has the rule that
// libunwind falls back to. Anything else has no rule: signal frames, a CFA by another register.
//
// What was opened is kept; whoever knows that mappings changed makes a new one of these.
#pragma once

#include "base/target_addr.hpp"
#include "process/call_frames.hpp"
#include "process/maps.hpp"
#include "ptrace-agent/runtime/runtime.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace dt::agent {

// What of a frame's registers leads to its caller's.
struct StackPlace {
    std::uint64_t pc = 0, sp = 0, bp = 0;
    bool operator==(const StackPlace&) const = default;
};
using ReadWord = std::function<bool(std::uint64_t at, std::uint64_t& value)>;

// The caller's, as the runtime finds it by this rule; pc 0: there is none. Nothing: a
// word of it cannot be read.
std::optional<StackPlace> caller_by(const dt_rt_rule& rule, const StackPlace& place,
                                    const ReadWord& read);

class UnwindRules {
public:
    explicit UnwindRules(pid_t pid);
    ~UnwindRules();
    UnwindRules(const UnwindRules&) = delete;
    UnwindRules& operator=(const UnwindRules&) = delete;

    // At this place of the text, which of a caller is its return address less one.
    std::optional<dt_rt_rule> rule_at(TargetAddr at);

private:
    pid_t pid_;
    std::vector<Mapping> mappings_;
    std::map<std::string, std::unique_ptr<CallFrames>> objects_; // by path
};

} // namespace dt::agent
