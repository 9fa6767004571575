// SPDX-License-Identifier: MIT
// Chains: windows with several jumps, each of which overlaps the next one.
//
//   at:    ret             e9        jmp T
//   at+1:  xor %eax,%eax   e9 ...    jmp S1     S1, S2: stubs that jump to the copies
//   at+3:  ret             ...                          of xor and mov
//   at+4:  mov %rdi,%rax   e9 ...    jmp S2
//
// A block is the text from one branch target to the next. Each block but the last is
// shorter than a jump. The last one has room for a jump.
#pragma once

#include "fasttrap/patch_run.hpp"

namespace dt {

struct Chain {
    std::vector<WindowInsn> insns;
    std::vector<TargetAddr> starts; // of the blocks
    TargetAddr end;
    TargetAddr limit; // how far the last block could reach

    // Takes a window, with its probes, into the chain. Returns false if that is not
    // possible; the chain may have changed then.
    bool absorb(const Window& window);
    // Returns the chain as a window without prefixes. Returns nothing if the text
    // cannot be read, or if a block does not begin with an instruction.
    std::optional<Window> window(const Arch& arch, const ReadText& read) const;
};

// Makes a chain. `first` holds the instructions of the first block, whose padding ends
// at `end`. Returns nothing if no later block has room for a jump.
std::optional<Chain> chain_from(Run& run, const PatchSite& site,
                                std::vector<WindowInsn> first, TargetAddr end);

// Returns whether n prefixes may be put at `at`. An instruction that begins after `at`,
// up to the byte after the prefixes, forbids it: a jump to it would not be caught.
bool may_prefix(const Window& window, TargetAddr at, std::size_t n);

// Returns whether the jumps can lead to addresses of user space: the first jump for
// some displacement, each later jump whose highest byte is given for all displacements.
bool is_reachable(const Window& window);

// The highest byte of a displacement says which 16 MiB the jump leads to.
enum class ChainReach : std::uint8_t {
    open, // no jump's is given; the place of the trampoline decides it
    far,  // only the first jump's is given, by a later jump's opcode or prefix
    any,  // each jump's may be given; the stub of such a jump needs an area of its own
};
// Chooses prefixes for the window's jumps so that they have this reach and
// is_reachable() is true. Returns false if that is not possible.
bool choose_prefixes(Window& window, ChainReach reach);

} // namespace dt
