// SPDX-License-Identifier: MIT
// Where the parts of an x86-64 instruction stand: prefixes, opcode, ModRM, immediate.
//
//   [legacy prefixes] [REX] opcode...        [ModRM [SIB] [disp]] [immediate]
//   [legacy prefixes] VEX|EVEX|XOP opcode     ModRM [SIB] [disp]   [immediate]
//
// The format fixes all of this whatever the instruction means (Intel SDM volume 2,
// chapter 2 and appendix A), so that capstone's idea of a length can be held against
// it, and so that an operand can be rewritten at a known byte. Whether the bytes mean
// anything at all is not asked here.
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
    std::uint8_t prefixes = 0;     // of Prefix
    std::uint8_t segment_byte = 0; // the last segment prefix
    Encoding encoding = Encoding::legacy;
    std::uint8_t map = 0;
    std::uint8_t opcode = 0;
    std::uint8_t vex_at = 0; // of a VEX, EVEX or XOP prefix; 0 also means "at 0"
    std::uint8_t rex_at = 0;
    std::uint8_t opcode_at = 0;
    std::uint8_t modrm_at = 0; // 0: it has none
    std::uint8_t disp_at = 0;
    std::uint8_t disp_size = 0;
    std::uint8_t imm_at = 0;
    std::uint8_t imm_size = 0;
    bool has_rex = false;
    bool misplaced_rex = false; // a REX prefix that another prefix made meaningless
    bool w = false, r = false, x = false, b = false; // as REX has them, not inverted
    std::uint8_t vvvv = 0;                           // VEX family, not inverted
};

Layout lay_out(std::span<const std::byte> text);

// SSE4a of AMD's, of the opcodes behind 0f: two bytes follow where others have vmread. Intel's
// processors know neither that nor a vmread with such a prefix.
constexpr bool is_extrq_or_insertq(unsigned opcode, unsigned prefixes)
{
    return opcode == 0x78 && (prefixes & (prefix_operand_size | prefix_repne)) != 0 &&
           (prefixes & prefix_rep) == 0;
}

} // namespace dt::x86
