// SPDX-License-Identifier: MIT
// Computes the legal values of a jump's displacement.
//
//   d = trampoline - (jump + 5)     d0 to d3 are its bytes, d3 is the most significant
//
// If an instruction starts k + 1 bytes after the jump's first byte, byte k of d must be
// a trap byte (patch.hpp). These bytes of d have fixed values:
//
//   - the bytes of a punned jump that also belong to the next instructions
//   - in a pair or chain, the bytes that are also prefixes or opcodes of later jumps
//   - in a pair or chain, the bytes that also belong to an earlier jump's displacement
//
// The destinations of a pair or chain are chosen in the order of the jumps.
//
// reach_of() returns the distances at which the caller may map memory for trampolines.
#pragma once

#include "fasttrap/patch.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace dt {

constexpr std::int64_t farthest_jump = std::int64_t(1) << 31;
// Planned jumps are shorter than farthest_jump by at least this margin. The margin is
// more than the size of a trampoline plus a window.
constexpr std::int64_t jump_slack = 4096;
constexpr unsigned no_byte = 256;

// For each byte value, the lowest trap byte that is at least this value, or no_byte.
using NextTrap = std::array<std::uint16_t, 257>;

// The rules for the bytes of a displacement. Bit k of mask is set if only some values
// of byte k are legal.
struct Rules {
    const NextTrap* traps = nullptr;
    unsigned mask = 0;
    unsigned fixed = 0; // subset of mask: bytes that must equal `values`
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
    TargetAddr origin; // end of the jump
    // For a displacement in [from, to), the jump's destination is close enough to the
    // data that the window uses.
    std::int64_t from, to;

    // Limits the displacements to destinations from which a jump can reach `other`.
    void keep_in_reach(TargetAddr other)
    {
        auto d = static_cast<std::int64_t>(other - origin);
        from = std::max(from, d - farthest_jump + jump_slack);
        to = std::min(to, d + farthest_jump - jump_slack);
    }
};

// Returns the first displacement at or after d whose bytes are legal. Checks only the
// bytes in mask.
std::int64_t next_legal(const Rules& rules, unsigned mask, std::int64_t d);

// Returns the constraint on the trampoline of a window. For a punned window, the
// trampoline only has to be within a jump's reach of the stub.
Constraint constraint_of(const Window& window);
// Returns the constraint on the only stub of a punned window, or on the next stub of a
// pair or chain. so_far contains the addresses that were already chosen.
Constraint constraint_of_stub(const Window& window, const Placement& so_far);
// Returns whether the most significant byte of the k-th jump's displacement is also a
// prefix or the opcode of a later jump.
bool is_highest_given(const Window& window, std::size_t k);

} // namespace dt
