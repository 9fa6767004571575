// SPDX-License-Identifier: MIT
// Tables of the parts that follow an opcode byte: ModRM, an immediate of some size,
// both, or nothing (Intel SDM volume 2, appendix A).
#pragma once

#include <cstdint>

namespace dt::x86 {

// The parts after an opcode. The immediate of imm_z has 2 bytes with an operand-size
// prefix, otherwise 4.
enum Tail : std::uint8_t {
    bare,
    modrm,
    imm8,
    imm16,
    imm24,
    imm_z,
    imm_v, // immediate of a mov to a register; 8 bytes with REX.W, otherwise like imm_z
    moffs, // an absolute address of 8 bytes; 4 bytes with an address-size prefix
    rel8,
    rel32,
    modrm_imm8,
    modrm_imm16,
    modrm_imm_z,
    modrm_test8,    // has a 1-byte immediate only if ModRM.reg is 0 or 1
    modrm_test_z,   // has an immediate like imm_z only if ModRM.reg is 0 or 1
    modrm_register, // mov of control and debug registers, which ignores ModRM.mod
};

constexpr Tail tail_of_map0(unsigned op)
{
    if (op < 0x40)
        return (op & 7) < 4    ? modrm
               : (op & 7) == 4 ? imm8
               : (op & 7) == 5 ? imm_z
                               : bare;
    if (op >= 0x70 && op <= 0x7f)
        return rel8;
    if (op >= 0xb0 && op <= 0xbf)
        return op < 0xb8 ? imm8 : imm_v;
    if (op >= 0xd8 && op <= 0xdf)
        return modrm;
    if (op >= 0x84 && op <= 0x8f)
        return modrm;
    if (op >= 0xd0 && op <= 0xd3)
        return modrm;
    if (op >= 0xa0 && op <= 0xa3)
        return moffs;
    if (op >= 0xe0 && op <= 0xe3)
        return rel8;
    if (op >= 0xe4 && op <= 0xe7)
        return imm8;
    switch (op) {
    case 0x63:
    case 0xfe:
    case 0xff:
        return modrm;
    case 0x68:
    case 0xa9:
        return imm_z;
    case 0x69:
    case 0x81:
    case 0xc7:
        return modrm_imm_z;
    case 0x6a:
    case 0xa8:
    case 0xcd:
        return imm8;
    case 0x6b:
    case 0x80:
    case 0x82:
    case 0x83:
    case 0xc0:
    case 0xc1:
    case 0xc6:
        return modrm_imm8;
    case 0xc2:
    case 0xca:
        return imm16;
    case 0xc8:
        return imm24;
    case 0xe8:
    case 0xe9:
        return rel32;
    case 0xeb:
        return rel8;
    case 0xf6:
        return modrm_test8;
    case 0xf7:
        return modrm_test_z;
    default:
        return bare;
    }
}

constexpr Tail tail_of_map1(unsigned op)
{
    if (op >= 0x80 && op <= 0x8f)
        return rel32;
    if (op >= 0x20 && op <= 0x27)
        return modrm_register;
    if ((op >= 0x04 && op <= 0x0c) || op == 0x0e || (op >= 0x30 && op <= 0x37) ||
        op == 0x77 || (op >= 0xa0 && op <= 0xa2) || (op >= 0xa8 && op <= 0xaa) ||
        (op >= 0xc8 && op <= 0xcf))
        return bare;
    if (op == 0x0f || (op >= 0x70 && op <= 0x73) || op == 0xa4 || op == 0xac ||
        op == 0xba || op == 0xc2 || (op >= 0xc4 && op <= 0xc6))
        return modrm_imm8;
    return modrm;
}

constexpr Tail tail_of_vex(unsigned map, unsigned op)
{
    if (map == 3 || map == 8)
        return modrm_imm8;
    if (map != 1)
        return modrm;
    if (op == 0x77)
        return bare;
    bool immediate =
        (op >= 0x70 && op <= 0x73) || op == 0xc2 || (op >= 0xc4 && op <= 0xc6);
    return immediate ? modrm_imm8 : modrm;
}

} // namespace dt::x86
