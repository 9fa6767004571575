// SPDX-License-Identifier: MIT
// Instructions, a state in which they may run, and the patches that replace some of
// them.
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

// Prepares a run of a sequence in a state that sequence[key] needs. Branches lead to a
// jump that ends the run (a pad, native.hpp). The sequence is cut where a window must
// end. Returns nullopt if the sequence must not run.
std::optional<WindowSequence>
arrange_sequence(Differential& differential,
                 const std::vector<std::vector<std::byte>>& sequence, std::size_t key);

} // namespace dt::test
