// SPDX-License-Identifier: MIT
// The slots of a target. A slot is slot_bytes bytes of executable memory, and holds a
// copy of one instruction.
//
//   page (r-x) ──< slot ── of a thread, which single-steps a copy there
//                      └── of an address: a copy that any thread runs without a stop
//
// Invariants
//   - A slot has at most one use. A thread has at most one slot.
//   - The program never sees a pc in a slot. If a thread stops in a slot, the agent
//     first moves the thread to the program's text.
#pragma once

#include "base/target_addr.hpp"
#include "fasttrap/instruction.hpp"

#include <cstddef>
#include <optional>
#include <sys/types.h>
#include <unordered_map>
#include <utility>
#include <vector>

namespace dt::agent {

class AddressSpace;

class Slots {
public:
    // Adds a page, which the caller has mapped in the target.
    void add_page(TargetAddr page, std::size_t bytes);
    // Returns the first address and the number of bytes of each page.
    const std::vector<std::pair<TargetAddr, std::size_t>>& pages() const
    {
        return pages_;
    }
    void forget_pages() { pages_.clear(); } // they are no longer in the target
    bool contain(TargetAddr at) const;

    bool has_free(pid_t tid) const;
    // Returns the thread's slot. Assigns a free slot if the thread has none. The caller
    // must first check has_free().
    TargetAddr of(pid_t tid);
    void free(pid_t tid);

    // Writes a copy that a thread can run without a stop: the instruction, then a jump
    // to the next instruction. The copy is never freed. Returns the address of the
    // copy, or nothing if no slot is free or writable, or if a different instruction
    // was copied from the same address before.
    std::optional<TargetAddr> copy(AddressSpace& space, const Instruction& insn);
    // Returns the instruction that was copied to this address, or null.
    const Instruction* copied_to(TargetAddr at) const;

    void forget_all() { *this = {}; }

private:
    std::vector<std::pair<TargetAddr, std::size_t>> pages_;
    std::vector<TargetAddr> free_;
    std::unordered_map<pid_t, TargetAddr> of_threads_;
    std::unordered_map<TargetAddr, Instruction> copies_; // key: the slot
    std::unordered_map<TargetAddr, TargetAddr> copied_;  // original address to slot
};

} // namespace dt::agent
