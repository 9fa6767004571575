// SPDX-License-Identifier: MIT
// What the static probes of one memory need besides their sites: where their arguments are,
// and the semaphores by which the program knows that somebody traces.
//
//   Firing::arg0 of a static site ──> entry ── operands, at the same numbers in the runtime
//                                       └──── semaphore: a 16-bit counter of the program
//
// A semaphore is raised by one while any of its sites stands, and lowered when the last is
// gone (settle()). Others count there as well, the kernel's uprobes for one.
#pragma once

#include "base/target_addr.hpp"
#include "ptrace-agent/client.hpp"
#include "ptrace-agent/runtime/runtime.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <sys/types.h>
#include <vector>

namespace dt::agent {

class AddressSpace;

class Statics {
public:
    // For Firing::arg0; none: there are too many operands.
    std::optional<std::uint64_t> add(TargetAddr site, const StaticFacts& facts,
                                     std::span<const dt_rt_operand> operands);
    // For dt_rt_firing::arg0.
    std::uint64_t list_of(std::uint64_t entry) const;
    std::span<const dt_rt_operand> operands_of(std::uint64_t entry) const;
    std::span<const dt_rt_operand> all_operands() const { return operands_; }

    // Raises and lowers by what stands in the space now.
    void settle(AddressSpace& space);
    // Every one lowered, in the space, or in a copy of its memory.
    void lower_all(AddressSpace& space);
    void lower_in(pid_t child) const;
    // A site whose text was unmapped: its semaphore went with it.
    void forget(TargetAddr site);
    void forget_all() { *this = {}; }

private:
    struct Entry {
        TargetAddr site, semaphore;
        std::uint32_t first = 0, n = 0; // operands
    };
    std::vector<Entry> entries_;
    std::vector<dt_rt_operand> operands_;
    std::map<std::string, std::uint32_t> lists_; // by bytes: where they stand
    std::set<TargetAddr> raised_;
};

} // namespace dt::agent
