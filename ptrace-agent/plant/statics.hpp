// SPDX-License-Identifier: MIT
// What the static probes of one memory need besides their sites: where their arguments are,
// and the semaphores by which the program knows that it is traced. Sites at indirect
// jumps (SiteKind::jump_out) have their operands here, too, and no semaphore.
//
//   Firing::arg0 of a static site ──> entry ── operands, at the same numbers in the runtime
//                                       └──── semaphore: a 16-bit counter of the program
//
// A semaphore is raised by one while any of its sites stands, and lowered when the last is
// gone (settle()). Others count there as well: the kernel's uprobes, and debuggers, which
// cannot be here at the same time. So we only ever add one to what is there and take that
// away again, with all threads stopped, and read right before we write.
//
// If we are killed, our client, or who grabs the target next if that died with us, finds in
// the runtime what is still raised (dt_rt_raised_list), and lowers it. It is written after a semaphore was raised and before
// one is lowered: at the worst one stays raised, and nobody's else is taken away.
//
// What remains: the kernel adds without a lock, so a uprobe of somebody else that comes or
// goes in the microsecond between our reading and writing is counted wrong; no way of adding
// could prevent that. Without a runtime (-x mechanism=int3) there is no list. Of more than
// DT_RT_MAX_RAISED the others are not in it.
#pragma once

#include "base/target_addr.hpp"
#include "fasttrap/instruction.hpp"
#include "process/proc_files.hpp"
#include "ptrace-agent/runtime/runtime.h"
#include "ptrace-agent/wire/client.hpp"

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
    // For Firing::arg0; none: there are too many operands. The same one for what was added
    // before.
    std::optional<std::uint64_t> add(TargetAddr site, const StaticFacts& facts,
                                     std::span<const dt_operand> operands);
    // For dt_rt_firing::arg0.
    std::uint64_t list_of(std::uint64_t entry) const;
    std::span<const dt_operand> operands_of(std::uint64_t entry) const;
    std::span<const dt_operand> operands_at(std::uint64_t list) const;
    std::span<const dt_operand> all_operands() const { return operands_; }

    // Raises and lowers by what stands in the space now.
    void settle(AddressSpace& space);
    // Every one lowered, in the space, or in a copy of its memory.
    void lower_all(AddressSpace& space);
    void lower_in(const AddressSpace& space, pid_t child) const;
    // A site whose text was unmapped: its semaphore went with it. The list says so when it
    // is written again.
    void forget(TargetAddr site);
    void write_list(AddressSpace& space) const;
    void forget_all() { *this = {}; }

private:
    struct Entry {
        TargetAddr site, semaphore;
        std::uint32_t first = 0, n = 0; // operands
        bool gone = false;
        bool operator==(const Entry&) const = default;
    };
    void raise(AddressSpace& space, const std::set<TargetAddr>& wanted);

    std::vector<Entry> entries_;
    std::multimap<TargetAddr, std::uint64_t> by_site_;
    std::map<TargetAddr, std::uint32_t> n_sites_; // of semaphores, that are not gone
    std::vector<dt_operand> operands_;
    std::map<std::string, std::uint32_t> lists_; // by bytes: where they stand
    std::map<TargetAddr, dt_rt_raised> raised_;
};

// Returns the destination of an indirect jump as an operand, which is read from
// registers and memory right before the jump runs. Returns nothing for a form that no
// compiler emits (16 bits of a register, a sum that is truncated to 32 bits).
std::optional<dt_operand> destination_of(const Instruction& jump);
// Returns whether the destination is outside of all parts of the function. Site::arg0
// of jump_out sites leads to these operands.
bool is_outside(std::span<const dt_operand> operands, TargetAddr destination);
// Returns the distance from the function's entry to the jump.
std::uint64_t offset_of_jump(std::span<const dt_operand> operands, TargetAddr jump);

// What the runtime of an agent that died says is raised: lowered, if that is what it was.
// mem: /proc/PID/mem of the process, whose threads may run.
void lower_left(int mem, pid_t pid, TargetAddr image);

} // namespace dt::agent
