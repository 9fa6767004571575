// SPDX-License-Identifier: MIT
// The operands and semaphores of the static probes in one address space. Sites at
// indirect jumps (SiteKind::jump_out) also have operands here, but no semaphore.
//
//   Firing::arg0 of a static site ──▶ entry ──▶ operands (at the same index in config)
//                                       └────▶ semaphore (a 16-bit counter)
//
// A semaphore is raised (incremented by 1) while any of its sites has a jump or
// breakpoint. It is lowered after the last of them has been removed (settle()). Other
// tracers use the same counter. So the agent changes it only by 1, with all threads
// stopped.
//
// The runtime contains a list of the raised semaphores (dt_rt_raised_list). If the
// agent is killed, this consumer or a later consumer lowers the semaphores in the list.
// The list is written after a semaphore is raised, and before a semaphore is lowered.
// So a semaphore may stay raised, but another tracer's count is never removed.
//
// Limits
// - The count becomes wrong if the kernel changes it between our read and our write. No
//   lock prevents this.
// - Without a runtime (-x mechanism=int3) there is no list.
// - The list has space for DT_RT_MAX_RAISED semaphores. If the agent is killed, any
//   further semaphores stay raised.
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
    // Adds a site. Returns its entry, which is the value for Firing::arg0. Returns
    // nothing if there is no room for the operands. Returns the same entry for equal
    // arguments.
    std::optional<std::uint64_t> add(TargetAddr site, const StaticFacts& facts,
                                     std::span<const dt_operand> operands);
    // Returns the position and number of an entry's operands, encoded as in
    // dt_rt_firing::arg0.
    std::uint64_t list_of(std::uint64_t entry) const;
    std::span<const dt_operand> operands_of(std::uint64_t entry) const;
    std::span<const dt_operand> operands_at(std::uint64_t list) const;
    std::span<const dt_operand> all_operands() const { return operands_; }

    // Raises the semaphores that have a site with a jump or breakpoint, and lowers all
    // other semaphores.
    void settle(AddressSpace& space);
    // These functions lower all raised semaphores in the address space, or in a child's
    // copy of the memory.
    void lower_all(AddressSpace& space);
    void lower_in(const AddressSpace& space, pid_t child) const;
    // Forgets a site whose text was unmapped. If no other mapped site uses its
    // semaphore, the semaphore was unmapped too, and is not lowered.
    void forget(TargetAddr site);
    // Writes the list of the raised semaphores to the runtime.
    void write_list(AddressSpace& space) const;
    void forget_all() { *this = {}; }

private:
    struct Entry {
        TargetAddr site, semaphore;
        std::uint32_t first = 0, n = 0; // operands
        bool gone = false;              // the site's text was unmapped
        bool operator==(const Entry&) const = default;
    };
    void raise(AddressSpace& space, const std::set<TargetAddr>& wanted);

    std::vector<Entry> entries_;
    std::multimap<TargetAddr, std::uint64_t> by_site_;
    std::map<TargetAddr, std::uint32_t> n_sites_; // mapped sites of each semaphore
    std::vector<dt_operand> operands_;
    // Maps the bytes of each operand list to its index in operands_.
    std::map<std::string, std::uint32_t> lists_;
    std::map<TargetAddr, dt_rt_raised> raised_; // key: address
};

// Returns the operand from which an indirect jump takes its destination. The operand
// must be read right before the jump runs. Returns nothing for a form that no compiler
// emits (16 bits of a register, a sum that is truncated to 32 bits).
std::optional<dt_operand> destination_of(const Instruction& jump);
// Returns the distance from the function's entry to the jump. `operands` are the
// operands of a jump_out site.
std::uint64_t offset_of_jump(std::span<const dt_operand> operands, TargetAddr jump);

// Lowers the semaphores that a dead agent has raised in a process. `image` is the
// address of that agent's runtime. Ignores a semaphore if a different file is now
// mapped there. `mem` is /proc/PID/mem. The threads of the process may run.
void lower_left(int mem, pid_t pid, TargetAddr image);

} // namespace dt::agent
