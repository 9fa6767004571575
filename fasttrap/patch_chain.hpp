// SPDX-License-Identifier: MIT
// Chains: windows with several jumps, each of which overlaps the next one.
//
//   at:    ret             e9        jmp T
//   at+1:  xor %eax,%eax   e9 ...    jmp S1     S1, S2: stubs that jump to the copies
//   at+3:  ret             ...                          of xor and mov
//   at+4:  mov %rdi,%rax   e9 ...    jmp S2
//
// T is the trampoline.
#pragma once

#include "fasttrap/patch_run.hpp"

namespace dt {

struct Chain {
    std::vector<WindowInsn> insns;
    std::vector<TargetAddr> starts; // starts of the blocks
    TargetAddr end;
    TargetAddr limit; // the last block may extend up to here

    // Adds the instructions and sites of a window to the chain. If the function returns
    // false, the chain may be partly changed and must not be used.
    bool absorb(const Window& window);
    // Returns the chain as a window without prefixes. Returns nothing if the text
    // cannot be read, or if a block does not begin with an instruction.
    std::optional<Window> window(const Arch& arch, const ReadText& read) const;
};

// Creates a chain. `first` contains the instructions of the first block. `end` is the
// end of this block, including its padding. Returns nothing if a chain is not possible.
std::optional<Chain> chain_from(Run& run, const PatchSite& site,
                                std::vector<WindowInsn> first, TargetAddr end);

// Returns whether n prefixes may precede the jump that replaces the block at `at`.
// Returns false if an instruction begins at one of the n bytes after `at`, because a
// branch to this instruction would not trap.
bool may_prefix(const Window& window, TargetAddr at, std::size_t n);

// Returns whether each jump can lead to an address in user space. If a jump after the
// first one can reach only one range of 16 MiB, the entire range must be in user space.
bool is_reachable(const Window& window);

// Describes which jumps of a chain lead far away. A jump leads far away if the most
// significant byte of its displacement is also part of a later jump. It can then reach
// only one range of 16 MiB.
enum class ChainReach : std::uint8_t {
    open, // no jump leads far away
    far,  // the first jump leads far away, and no other jump does
    any,  // any jump may lead far away; the stub of such a jump needs a separate area
};
// Chooses prefixes so that the jumps have this reach and is_reachable() returns true.
// Returns false if that is not possible.
bool choose_prefixes(Window& window, ChainReach reach);

} // namespace dt
