// SPDX-License-Identifier: MIT
// Windows whose jumps overlap one after the other: chains.
//
//   at:    ret             e9        jmp T
//   at+1:  xor %eax,%eax   e9 ...    jmp S1     S1, S2: stubs, jumps to the copies of the
//   at+3:  ret             ...                          xor and of the mov
//   at+4:  mov %rdi,%rax   e9 ...    jmp S2
//
// A block is what stands from one branch target to the next. Each block but the last is
// shorter than a jump. The last one has room for a jump.
#pragma once

#include "fasttrap/patch_run.hpp"

namespace dt {

struct Chain {
    std::vector<WindowInsn> insns;
    std::vector<TargetAddr> starts; // of the blocks
    TargetAddr end;
    TargetAddr limit; // how far the last block could reach

    // Takes a window's place. Its probes stay. Returns false, and may then have changed,
    // where that is not possible.
    bool absorb(const Window& window);
    // A window without prefixes. Returns nothing where the text cannot be read.
    std::optional<Window> window(const Arch& arch, const ReadText& read) const;
};

// first: the instructions of the first block, which ends with its padding at `end`. Returns
// nothing when no later block has room for a jump.
std::optional<Chain> chain_from(Run& run, const PatchSite& site,
                                std::vector<WindowInsn> first, TargetAddr end);

// Whether n prefixes may stand at `at`: no instruction begins in or behind them, but at the
// first. A jump to it would not be caught.
bool may_prefix(const Window& window, TargetAddr at, std::size_t n);

// Some place that the first jump can lead to is an address of user space, and so is the
// complete range of each other jump whose highest byte is given.
bool is_reachable(const Window& window);

// The highest byte of a displacement says which 16 MiB the jump leads to.
enum class ChainReach : std::uint8_t {
    open, // the place of the trampoline decides for all jumps
    far,  // the first jump's is a later jump's opcode or prefix
    any,  // that of any jump may be: its stub needs an area of its own
};
// Puts prefixes before the window's jumps so that the reach is such and is_reachable().
// Returns false where that is not possible.
bool choose_prefixes(Window& window, ChainReach reach);

} // namespace dt
