// SPDX-License-Identifier: MIT
// Consecutive instructions, a state in which they may run, and the patches that replace
// some of them.
#pragma once

#include "differential.hpp"
#include "fasttrap/patch.hpp"

#include <optional>
#include <vector>

namespace dt::test {

constexpr std::size_t max_sequence = 14;

struct WindowSequence {
    Case c;
    TargetAddr at;
    TargetAddr entry; // where the run begins
    std::vector<Instruction> insns;
    std::vector<std::byte> text;    // bytes of insns, with padding after a jump or ret
    std::vector<std::size_t> sites; // indices in insns
    std::vector<Patch> patches;
    std::vector<std::size_t> taken; // size of each patch's code
    std::vector<bool> placed = std::vector<bool>(16);
};

// Prepares a sequence of instructions for a run. The instruction sequence[key] is the
// key. Sets up the registers and memory that the key needs, and places the other
// instructions before and after the key. Changes all direct branches so that they lead
// to a pad (native.hpp), and all rip-relative displacements so that they reach the
// data. The prepared sequence ends with the first instruction that cannot be moved or
// at which a window must end, such as a return. Returns nullopt if the sequence cannot
// be prepared or must not be run.
std::optional<WindowSequence>
arrange_sequence(Differential& differential,
                 const std::vector<std::vector<std::byte>>& sequence, std::size_t key);

} // namespace dt::test
