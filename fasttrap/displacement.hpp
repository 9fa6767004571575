// SPDX-License-Identifier: MIT
// What the displacement of a window's jump may be.
//
//   d = trampoline - (jump + 5)     four bytes d0 d1 d2 d3
//
// An instruction that starts k + 1 bytes into the jump wants byte k of d to be one that
// traps. Bytes that are not the jump's own are fixed: those of a punned jump are kept
// text; those of a pair's first jump are the second jump's opcode and displacement. The
// jumps of a pair or chain get their places in order: what one leaves of the next one's
// displacement is fixed by then.
//
// Legal values of d are found byte by byte from the highest (next_legal), so that a search
// steps over whole ranges that cannot be. Of bytes that trap, d0 leaves places 13 bytes
// apart on average, d1 pieces of 256 bytes, d2 pieces of 64 KiB; d3 says how far away the
// area must be, and is the caller's to arrange (reach_of).
#pragma once

#include "fasttrap/patch.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace dt {

constexpr std::int64_t farthest_jump = std::int64_t(1) << 31;
constexpr std::int64_t jump_slack = 4096; // more than a trampoline and a window
constexpr unsigned no_byte = 256;

using NextTrap = std::array<std::uint16_t, 257>; // the next value that traps, or none

// What the bytes of a displacement must be: a bit in mask for each of which not all will do.
struct Rules {
    const NextTrap* traps = nullptr;
    unsigned mask = 0;
    unsigned fixed = 0; // of mask: those that must be `values`
    std::array<std::uint8_t, 4> values{};

    void fix(unsigned k, std::byte value)
    {
        mask |= 1U << k;
        fixed |= 1U << k;
        values[k] = static_cast<std::uint8_t>(value);
    }
    unsigned next(int k, unsigned byte) const
    {
        if ((fixed >> k & 1U) == 0)
            return (*traps)[byte];
        unsigned value = values[static_cast<unsigned>(k)];
        return byte <= value ? value : no_byte;
    }
};

struct Constraint : Rules {
    TargetAddr origin;     // displacements count from here
    std::int64_t from, to; // [from, to) of them keep the window's data in reach

    // And another place, to which a jump leads or from which one comes.
    void keep_in_reach(TargetAddr other)
    {
        auto d = static_cast<std::int64_t>(other - origin);
        from = std::max(from, d - farthest_jump + jump_slack);
        to = std::min(to, d + farthest_jump - jump_slack);
    }
};

// The first displacement at or behind d whose bytes in mask are as the rules want them.
std::int64_t next_legal(const Rules& rules, unsigned mask, std::int64_t d);

// Where the trampoline may stand: of a punned window anywhere near.
Constraint constraint_of(const Window& window);
// Returns where the stub of a punned window may be, or the next stub of a pair or chain, of which
// the trampoline and the stubs before it have their places.
Constraint constraint_of_stub(const Window& window, const Placement& so_far);
// Whether the highest byte of the k-th jump's displacement is a prefix or opcode of a later
// jump.
bool is_highest_given(const Window& window, std::size_t k);

} // namespace dt
