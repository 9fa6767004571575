// SPDX-License-Identifier: MIT
// Makes rules for walking the stack (struct dt_rt_rule) from the call frame information
// of the files that a process has mapped.
//
// A rule can express what nearly all code does:
//   - The CFA is %rsp or %rbp plus a number, or a word on the stack.
//   - %rbp is unchanged, or saved on the stack.
//   - The return address is the word below the CFA.
//
// Text without call frame information, such as Go code, has the rule DT_RT_FROM_GUESS.
// A signal frame has no rule. A frame also has no rule if its CFA depends on another
// register.
//
// The list of mappings is read once, and then cached. When mappings change, the owner
// must create a new UnwindRules. A process without rights reads the files
// (rule_reader.hpp).
#pragma once

#include "base/target_addr.hpp"
#include "process/maps.hpp"
#include "ptrace-agent/rules/rule_reader.hpp"
#include "ptrace-agent/runtime/runtime.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace dt::agent {

// The registers of one frame. A rule computes the caller's registers from them.
struct StackPlace {
    std::uint64_t pc = 0, sp = 0, bp = 0;
    bool operator==(const StackPlace&) const = default;
};
// Reads a word of the target's stack. Returns false on failure.
using ReadWord = std::function<bool(std::uint64_t at, std::uint64_t& value)>;

// Returns the caller's registers as the runtime computes them. The pc is 0 if there is
// no caller. Returns nothing if the stack cannot be read. For a guess, also returns
// nothing if %rbp is below %rsp or more than DT_RT_GUESS_REACH bytes above %rsp.
std::optional<StackPlace> caller_by(const dt_rt_rule& rule, const StackPlace& place,
                                    const ReadWord& read);

class UnwindRules {
public:
    UnwindRules(pid_t pid, RuleReader& reader);
    UnwindRules(const UnwindRules&) = delete;
    UnwindRules& operator=(const UnwindRules&) = delete;

    // Returns the rule for this address in the text. Returns nothing if there is no rule,
    // or if it is not known yet. RuleReader::exchange() then requests it. For a caller,
    // pass its return address minus one.
    std::optional<dt_rt_rule> rule_at(TargetAddr at);

private:
    pid_t pid_;
    RuleReader& reader_;
    std::vector<Mapping> mappings_;
    std::map<std::string, std::weak_ptr<RuleReader::File>> objects_; // key: the path
};

} // namespace dt::agent
