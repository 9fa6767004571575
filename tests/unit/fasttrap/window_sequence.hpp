// SPDX-License-Identifier: MIT
// Consecutive instructions with a state in which they may be run, and what stands over
// them when they are patched.
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
    TargetAddr entry; // where it is run from
    std::vector<Instruction> insns;
    std::vector<std::byte> text;    // with padding
    std::vector<std::size_t> sites; // indices of insns
    std::vector<Patch> patches;
    std::vector<std::size_t> taken; // bytes of each
    std::vector<bool> placed = std::vector<bool>(16);
};

// The key's displacements and addresses are made to fit; those of the others if they are
// direct branches or rip-relative. The text ends at the first instruction that does not go
// on. Nothing when it may not be run.
std::optional<WindowSequence>
arrange_sequence(Differential& differential,
                 const std::vector<std::vector<std::byte>>& sequence, std::size_t key);

} // namespace dt::test
