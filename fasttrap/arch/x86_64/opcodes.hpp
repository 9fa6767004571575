// SPDX-License-Identifier: MIT
// A table of the modelled instructions, with one row per encoding.
//
// A row maps opcodes to an operation, which is a function in emulate.cpp. An
// instruction without a row runs as a copy of itself. X86_REFUSED lists encodings that
// must not run as a copy either. popf has no row, because ptrace cannot set the ID
// flag, which programs toggle to detect cpuid.
//
// The columns are: map, first opcode, number of consecutive opcodes, ModRM.reg (-1 if
// it may have any value), operation, form, operand size. The sizes are:
//
//   b     1 byte
//   v     2 bytes with prefix 66, 8 with REX.W, otherwise 4
//   q     8 bytes; not modelled with prefix 66
//   near  8 bytes, for near branches; refused with prefix 66
#pragma once

#include "fasttrap/instruction.hpp"

#include <cstdint>

namespace dt::x86 {

// clang-format off
/* X(operation). emulate.cpp defines do_<operation>() for each operation. */
#define X86_OPERATIONS(X)                                                      \
    X(nop) X(mov) X(movzx) X(movsx) X(lea) X(push) X(pop) X(leave)             \
    X(add) X(or_) X(adc) X(sbb) X(and_) X(sub) X(xor_) X(cmp) X(test)          \
    X(inc) X(dec) X(not_) X(neg) X(shl) X(shr) X(sar)                          \
    X(setcc) X(cmovcc) X(xchg) X(bswap) X(widen) X(spread)                     \
    X(pushf) X(lahf) X(sahf) X(cmc) X(clc) X(stc) X(cld) X(std_)       \
    X(call) X(call_rm) X(jmp) X(jmp_rm) X(jcc) X(loop_) X(jrcxz) X(ret)
// clang-format on

enum class Op : std::uint16_t {
    unmodelled,
#define X(name) name,
    X86_OPERATIONS(X)
#undef X
};

// The locations of an instruction's operands. In a form with rmN, the operand in
// ModRM.rm has N bytes.
enum class Form : std::uint8_t {
    none,
    rm,
    rm_reg,
    reg_rm,
    reg_mem, // lea
    rm_imm,
    rm_one, // shift by one
    reg_rm1,
    reg_rm2,
    reg_rm4,
    acc_imm,
    low, // register in the opcode's low three bits
    low_imm,
    acc_low,
    imm,
    rel,
};

enum class Size : std::uint8_t { b, v, q, near };

// clang-format off
#define X86_ALU(X, base, op)                                                   \
    X(0, (base) + 0, 1, -1, op, rm_reg, b)                                     \
    X(0, (base) + 1, 1, -1, op, rm_reg, v)                                     \
    X(0, (base) + 2, 1, -1, op, reg_rm, b)                                     \
    X(0, (base) + 3, 1, -1, op, reg_rm, v)                                     \
    X(0, (base) + 4, 1, -1, op, acc_imm, b)                                    \
    X(0, (base) + 5, 1, -1, op, acc_imm, v)                                    \
    X(0, 0x80, 1, (base) / 8, op, rm_imm, b)                                   \
    X(0, 0x81, 1, (base) / 8, op, rm_imm, v)                                   \
    X(0, 0x83, 1, (base) / 8, op, rm_imm, v)

#define X86_SHIFT(X, ext, op)                                                  \
    X(0, 0xc0, 1, ext, op, rm_imm, b)                                          \
    X(0, 0xc1, 1, ext, op, rm_imm, v)                                          \
    X(0, 0xd0, 1, ext, op, rm_one, b)                                          \
    X(0, 0xd1, 1, ext, op, rm_one, v)

#define X86_OPCODES(X)                                                         \
    X86_ALU(X, 0x00, add)                                                      \
    X86_ALU(X, 0x08, or_)                                                      \
    X86_ALU(X, 0x10, adc)                                                      \
    X86_ALU(X, 0x18, sbb)                                                      \
    X86_ALU(X, 0x20, and_)                                                     \
    X86_ALU(X, 0x28, sub)                                                      \
    X86_ALU(X, 0x30, xor_)                                                     \
    X86_ALU(X, 0x38, cmp)                                                      \
    X86_SHIFT(X, 4, shl)                                                       \
    X86_SHIFT(X, 5, shr)                                                       \
    X86_SHIFT(X, 7, sar)                                                       \
    X(0, 0x50, 8, -1, push,    low,     q)                                     \
    X(0, 0x58, 8, -1, pop,     low,     q)                                     \
    X(0, 0x63, 1, -1, movsx,   reg_rm4, v)                                     \
    X(0, 0x68, 1, -1, push,    imm,     q)                                     \
    X(0, 0x6a, 1, -1, push,    imm,     q)                                     \
    X(0, 0x70, 16, -1, jcc,    rel,     near)                                  \
    X(0, 0x84, 1, -1, test,    rm_reg,  b)                                     \
    X(0, 0x85, 1, -1, test,    rm_reg,  v)                                     \
    X(0, 0x86, 1, -1, xchg,    rm_reg,  b)                                     \
    X(0, 0x87, 1, -1, xchg,    rm_reg,  v)                                     \
    X(0, 0x88, 1, -1, mov,     rm_reg,  b)                                     \
    X(0, 0x89, 1, -1, mov,     rm_reg,  v)                                     \
    X(0, 0x8a, 1, -1, mov,     reg_rm,  b)                                     \
    X(0, 0x8b, 1, -1, mov,     reg_rm,  v)                                     \
    X(0, 0x8d, 1, -1, lea,     reg_mem, v)                                     \
    X(0, 0x8f, 1,  0, pop,     rm,      q)                                     \
    X(0, 0x90, 8, -1, xchg,    acc_low, v) /* decode.cpp makes 90 a nop */     \
    X(0, 0x98, 1, -1, widen,   none,    v)                                     \
    X(0, 0x99, 1, -1, spread,  none,    v)                                     \
    X(0, 0x9c, 1, -1, pushf,   none,    q)                                     \
    X(0, 0x9e, 1, -1, sahf,    none,    b)                                     \
    X(0, 0x9f, 1, -1, lahf,    none,    b)                                     \
    X(0, 0xa8, 1, -1, test,    acc_imm, b)                                     \
    X(0, 0xa9, 1, -1, test,    acc_imm, v)                                     \
    X(0, 0xb0, 8, -1, mov,     low_imm, b)                                     \
    X(0, 0xb8, 8, -1, mov,     low_imm, v)                                     \
    X(0, 0xc2, 1, -1, ret,     imm,     near)                                  \
    X(0, 0xc3, 1, -1, ret,     none,    near)                                  \
    X(0, 0xc6, 1,  0, mov,     rm_imm,  b)                                     \
    X(0, 0xc7, 1,  0, mov,     rm_imm,  v)                                     \
    X(0, 0xc9, 1, -1, leave,   none,    q)                                     \
    X(0, 0xe0, 3, -1, loop_,   rel,     near)                                  \
    X(0, 0xe3, 1, -1, jrcxz,   rel,     near)                                  \
    X(0, 0xe8, 1, -1, call,    rel,     near)                                  \
    X(0, 0xe9, 1, -1, jmp,     rel,     near)                                  \
    X(0, 0xeb, 1, -1, jmp,     rel,     near)                                  \
    X(0, 0xf5, 1, -1, cmc,     none,    b)                                     \
    X(0, 0xf6, 1,  0, test,    rm_imm,  b)                                     \
    X(0, 0xf6, 1,  2, not_,    rm,      b)                                     \
    X(0, 0xf6, 1,  3, neg,     rm,      b)                                     \
    X(0, 0xf7, 1,  0, test,    rm_imm,  v)                                     \
    X(0, 0xf7, 1,  2, not_,    rm,      v)                                     \
    X(0, 0xf7, 1,  3, neg,     rm,      v)                                     \
    X(0, 0xf8, 1, -1, clc,     none,    b)                                     \
    X(0, 0xf9, 1, -1, stc,     none,    b)                                     \
    X(0, 0xfc, 1, -1, cld,     none,    b)                                     \
    X(0, 0xfd, 1, -1, std_,    none,    b)                                     \
    X(0, 0xfe, 1,  0, inc,     rm,      b)                                     \
    X(0, 0xfe, 1,  1, dec,     rm,      b)                                     \
    X(0, 0xff, 1,  0, inc,     rm,      v)                                     \
    X(0, 0xff, 1,  1, dec,     rm,      v)                                     \
    X(0, 0xff, 1,  2, call_rm, rm,      near)                                  \
    X(0, 0xff, 1,  4, jmp_rm,  rm,      near)                                  \
    X(0, 0xff, 1,  6, push,    rm,      q)                                     \
    X(1, 0x1e, 1, -1, nop,     none,    b) /* endbr64, but not rdssp */        \
    X(1, 0x1f, 1, -1, nop,     none,    b)                                     \
    X(1, 0x40, 16, -1, cmovcc, reg_rm,  v)                                     \
    X(1, 0x80, 16, -1, jcc,    rel,     near)                                  \
    X(1, 0x90, 16, -1, setcc,  rm,      b)                                     \
    X(1, 0xb6, 1, -1, movzx,   reg_rm1, v)                                     \
    X(1, 0xb7, 1, -1, movzx,   reg_rm2, v)                                     \
    X(1, 0xbe, 1, -1, movsx,   reg_rm1, v)                                     \
    X(1, 0xbf, 1, -1, movsx,   reg_rm2, v)                                     \
    X(1, 0xc8, 8, -1, bswap,   low,     v)

/* Instructions in the legacy encoding that capstone 4 does not know. They run as copies.
   X(map, opcode, first ModRM, last ModRM, mandatory prefix) */
#define X86_NEWER(X)                                                           \
    X(1, 0x01, 0xe8, 0xe8, 0)                   /* serialize */                \
    X(1, 0x01, 0xee, 0xef, 0)                   /* rdpkru, wrpkru */           \
    X(1, 0xae, 0xf0, 0xf7, prefix_operand_size) /* tpause */                   \
    X(1, 0xae, 0xf0, 0xf7, prefix_rep)          /* umonitor */                 \
    X(1, 0xae, 0xe8, 0xef, prefix_rep)          /* incssp */                   \
    X(1, 0xae, 0xf0, 0xf7, prefix_repne)        /* umwait */                   \
    X(1, 0xc7, 0xf8, 0xff, prefix_rep)          /* rdpid */                    \
    X(2, 0xcf, 0x00, 0xff, prefix_operand_size) /* gf2p8mulb */                \
    X(2, 0xf8, 0x00, 0xbf, prefix_operand_size) /* movdir64b */                \
    X(2, 0xf9, 0x00, 0xbf, 0)                   /* movdiri */                  \
    X(3, 0xce, 0x00, 0xff, prefix_operand_size) /* gf2p8affineqb */            \
    X(3, 0xcf, 0x00, 0xff, prefix_operand_size) /* gf2p8affineinvqb */

/* X(map, first opcode, count, ModRM.reg or -1, ModRM byte or -1, flow, reason) */
#define X86_REFUSED(X)                                                                \
    X(0, 0xcc, 1, -1,   -1, stop,  "int3 is a breakpoint not set by dtrace")          \
    X(0, 0xcd, 1, -1,   -1, other, "int n raises a software interrupt")               \
    X(0, 0xf1, 1, -1,   -1, stop,  "int1 raises a debug exception")                   \
    X(0, 0x6c, 4, -1,   -1, stop,  "port input and output are not supported")         \
    X(0, 0xe4, 4, -1,   -1, stop,  "port input and output are not supported")         \
    X(0, 0xec, 4, -1,   -1, stop,  "port input and output are not supported")         \
    X(0, 0xfa, 2, -1,   -1, stop,  "cli and sti are not supported")                   \
    X(0, 0xca, 2, -1,   -1, other, "far returns are not supported")                   \
    X(0, 0xcf, 1, -1,   -1, other, "interrupt returns are not supported")             \
    X(0, 0xff, 1,  3,   -1, other, "far calls are not supported")                     \
    X(0, 0xff, 1,  5,   -1, other, "far jumps are not supported")                     \
    X(0, 0x8e, 1,  2,   -1, next,  "mov to ss suppresses the single-step trap")       \
    X(0, 0xc6, 1,  7, 0xf8, other, "transactional memory is not supported")           \
    X(0, 0xc7, 1,  7, 0xf8, other, "transactional memory is not supported")           \
    X(1, 0x01, 1,  2, 0xd5, other, "transactional memory is not supported")           \
    X(1, 0x07, 1, -1,   -1, other, "sysret is privileged")                            \
    X(1, 0x34, 2, -1,   -1, other, "sysenter and sysexit change the privilege level") \
    X(1, 0xb9, 1, -1,   -1, stop,  "ud1 raises an exception")                         \
    X(1, 0xff, 1, -1,   -1, stop,  "ud0 raises an exception")
// clang-format on

} // namespace dt::x86
