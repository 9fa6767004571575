// SPDX-License-Identifier: MIT
// Finds where the parts of an x86-64 instruction are.
//
//   [legacy prefixes] [REX] opcode...        [ModRM [SIB] [disp]] [immediate]
//   [legacy prefixes] VEX|EVEX|XOP opcode     ModRM [SIB] [disp]   [immediate]
//
// The layout follows from the format alone (Intel SDM volume 2, chapter 2 and appendix
// A). It does not show whether the bytes are a valid instruction.
#pragma once

#include "fasttrap/instruction.hpp"

#include <cstdint>
#include <span>

namespace dt::x86 {

struct Layout {
    enum Problem : std::uint8_t {
        fine,
        too_short,
        too_long,
        unknown_map
    } problem = fine;
    std::uint8_t length = 0;
    std::uint8_t prefixes = 0;     // set of Prefix
    std::uint8_t segment_byte = 0; // the last segment prefix
    Encoding encoding = Encoding::legacy;
    std::uint8_t map = 0;
    std::uint8_t opcode = 0;
    // Offset of the VEX, EVEX or XOP prefix. 0 if there is no such prefix, or if the
    // prefix is at offset 0.
    std::uint8_t vex_at = 0;
    std::uint8_t rex_at = 0;
    std::uint8_t opcode_at = 0;
    std::uint8_t modrm_at = 0; // 0 if there is no ModRM byte
    std::uint8_t disp_at = 0;
    std::uint8_t disp_size = 0;
    std::uint8_t imm_at = 0;
    std::uint8_t imm_size = 0;
    bool has_rex = false;
    // Set if another prefix follows the REX prefix. The processor then ignores REX.
    bool misplaced_rex = false;
    // The bits of the REX, VEX, EVEX or XOP prefix. VEX, EVEX and XOP store R, X, B
    // and vvvv inverted, but these members are not inverted.
    bool w = false, r = false, x = false, b = false;
    std::uint8_t vvvv = 0; // register number in VEX, EVEX or XOP
};

Layout lay_out(std::span<const std::byte> text);

// Returns whether the opcode 0f `opcode` with these prefixes is AMD's extrq or insertq
// (SSE4a), which have two immediate bytes. Without the prefixes, 0f 78 is vmread.
constexpr bool is_extrq_or_insertq(unsigned opcode, unsigned prefixes)
{
    return opcode == 0x78 && (prefixes & (prefix_operand_size | prefix_repne)) != 0 &&
           (prefixes & prefix_rep) == 0;
}

} // namespace dt::x86
