/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The table of the DIF instructions, one row each. The assembler, disassembler,
 * verifier and interpreter are expanded from this table. The numbers are the
 * same as in DTrace on other systems.
 *
 * An instruction has 32 bits: the opcode, r1, r2 and rd, with 8 bits each. The
 * operand column says how the 24 bits after the opcode are used. Unused bits
 * are zero.
 *
 *   R1_R2_RD   r1, r2 -> rd            R1_RD      r1 -> rd
 *   R1_R2      compares r1 with r2     R1         compares r1 with 0
 *   LABEL      24-bit index of a later instruction
 *   LOAD       [r1] -> rd              STORE      r1 -> [rd]
 *   RD         rd                      NONE
 *   INT_RD     16-bit index into the integer table -> rd
 *   STR_RD     16-bit offset into the string table -> rd
 *   VAR_RD     16-bit variable -> rd   RD_VAR     rd -> 16-bit variable
 *   VAR_R2_RD  8-bit array variable, index in r2 -> rd
 *   SUBR_RD    16-bit subroutine, result -> rd
 *   TUPLE      pushes a value on the tuple stack: r1 is its type (DIF_TYPE_*),
 *              r2 the register with its size, rd the register with the value
 *   XLATE      16-bit translator reference -> rd
 *
 * ld* read any address that the D program may read. uld* read only the memory
 * of the traced process. rld* read only the D program's own memory.
 *
 * The instructions f*, ldgaam, ldtaam and ldtsm do not exist in DTrace on other
 * systems. The floating-point instructions (f*) use doubles, except that fstod
 * reads a float and fdtos returns one. They do not trap. fdtoi and fdtou
 * truncate. A value out of range becomes the nearest valid integer, and a NaN
 * becomes 0. For a negative value, fdtou returns the same as fdtoi.
 *
 * ldgaam, ldtaam and ldtsm load the address of a dynamic variable that is a
 * structure or an array. If the variable does not exist, they create it and
 * fill it with zeros.
 */
#ifndef DIF_OPS_H
#define DIF_OPS_H

#include "dif/types.h"

/* clang-format off */
#define DIF_OPS(X)       /* X(opcode, number, operands, mnemonic) */ \
	X(OR,       1, R1_R2_RD,  "or")                             \
	X(XOR,      2, R1_R2_RD,  "xor")                            \
	X(AND,      3, R1_R2_RD,  "and")                            \
	X(SLL,      4, R1_R2_RD,  "sll")                            \
	X(SRL,      5, R1_R2_RD,  "srl")                            \
	X(SUB,      6, R1_R2_RD,  "sub")                            \
	X(ADD,      7, R1_R2_RD,  "add")                            \
	X(MUL,      8, R1_R2_RD,  "mul")                            \
	X(SDIV,     9, R1_R2_RD,  "sdiv")                           \
	X(UDIV,    10, R1_R2_RD,  "udiv")                           \
	X(SREM,    11, R1_R2_RD,  "srem")                           \
	X(UREM,    12, R1_R2_RD,  "urem")                           \
	X(NOT,     13, R1_RD,     "not")                            \
	X(MOV,     14, R1_RD,     "mov")                            \
	X(CMP,     15, R1_R2,     "cmp")                            \
	X(TST,     16, R1,        "tst")                            \
	X(BA,      17, LABEL,     "ba")                             \
	X(BE,      18, LABEL,     "be")                             \
	X(BNE,     19, LABEL,     "bne")                            \
	X(BG,      20, LABEL,     "bg")                             \
	X(BGU,     21, LABEL,     "bgu")                            \
	X(BGE,     22, LABEL,     "bge")                            \
	X(BGEU,    23, LABEL,     "bgeu")                           \
	X(BL,      24, LABEL,     "bl")                             \
	X(BLU,     25, LABEL,     "blu")                            \
	X(BLE,     26, LABEL,     "ble")                            \
	X(BLEU,    27, LABEL,     "bleu")                           \
	X(LDSB,    28, LOAD,      "ldsb")                           \
	X(LDSH,    29, LOAD,      "ldsh")                           \
	X(LDSW,    30, LOAD,      "ldsw")                           \
	X(LDUB,    31, LOAD,      "ldub")                           \
	X(LDUH,    32, LOAD,      "lduh")                           \
	X(LDUW,    33, LOAD,      "lduw")                           \
	X(LDX,     34, LOAD,      "ldx")                            \
	X(RET,     35, RD,        "ret")                            \
	X(NOP,     36, NONE,      "nop")                            \
	X(SETX,    37, INT_RD,    "setx")                           \
	X(SETS,    38, STR_RD,    "sets")                           \
	X(SCMP,    39, R1_R2,     "scmp")                           \
	X(LDGA,    40, VAR_R2_RD, "ldga")                           \
	X(LDGS,    41, VAR_RD,    "ldgs")                           \
	X(STGS,    42, RD_VAR,    "stgs")                           \
	X(LDTA,    43, VAR_R2_RD, "ldta")                           \
	X(LDTS,    44, VAR_RD,    "ldts")                           \
	X(STTS,    45, RD_VAR,    "stts")                           \
	X(SRA,     46, R1_R2_RD,  "sra")                            \
	X(CALL,    47, SUBR_RD,   "call")                           \
	X(PUSHTR,  48, TUPLE,     "pushtr")                         \
	X(PUSHTV,  49, TUPLE,     "pushtv")                         \
	X(POPTS,   50, NONE,      "popts")                          \
	X(FLUSHTS, 51, NONE,      "flushts")                        \
	X(LDGAA,   52, VAR_RD,    "ldgaa")                          \
	X(LDTAA,   53, VAR_RD,    "ldtaa")                          \
	X(STGAA,   54, RD_VAR,    "stgaa")                          \
	X(STTAA,   55, RD_VAR,    "sttaa")                          \
	X(LDLS,    56, VAR_RD,    "ldls")                           \
	X(STLS,    57, RD_VAR,    "stls")                           \
	X(ALLOCS,  58, R1_RD,     "allocs")                         \
	X(COPYS,   59, R1_R2_RD,  "copys")                          \
	X(STB,     60, STORE,     "stb")                            \
	X(STH,     61, STORE,     "sth")                            \
	X(STW,     62, STORE,     "stw")                            \
	X(STX,     63, STORE,     "stx")                            \
	X(ULDSB,   64, LOAD,      "uldsb")                          \
	X(ULDSH,   65, LOAD,      "uldsh")                          \
	X(ULDSW,   66, LOAD,      "uldsw")                          \
	X(ULDUB,   67, LOAD,      "uldub")                          \
	X(ULDUH,   68, LOAD,      "ulduh")                          \
	X(ULDUW,   69, LOAD,      "ulduw")                          \
	X(ULDX,    70, LOAD,      "uldx")                           \
	X(RLDSB,   71, LOAD,      "rldsb")                          \
	X(RLDSH,   72, LOAD,      "rldsh")                          \
	X(RLDSW,   73, LOAD,      "rldsw")                          \
	X(RLDUB,   74, LOAD,      "rldub")                          \
	X(RLDUH,   75, LOAD,      "rlduh")                          \
	X(RLDUW,   76, LOAD,      "rlduw")                          \
	X(RLDX,    77, LOAD,      "rldx")                           \
	X(XLATE,   78, XLATE,     "xlate")                          \
	X(XLARG,   79, XLATE,     "xlarg")                          \
	X(FADD,    80, R1_R2_RD,  "fadd")                           \
	X(FSUB,    81, R1_R2_RD,  "fsub")                           \
	X(FMUL,    82, R1_R2_RD,  "fmul")                           \
	X(FDIV,    83, R1_R2_RD,  "fdiv")                           \
	X(FEQ,     84, R1_R2_RD,  "feq")                            \
	X(FLT,     85, R1_R2_RD,  "flt")                            \
	X(FLE,     86, R1_R2_RD,  "fle")                            \
	X(FITOD,   87, R1_RD,     "fitod")                          \
	X(FUTOD,   88, R1_RD,     "futod")                          \
	X(FDTOI,   89, R1_RD,     "fdtoi")                          \
	X(FDTOU,   90, R1_RD,     "fdtou")                          \
	X(FSTOD,   91, R1_RD,     "fstod")                          \
	X(FDTOS,   92, R1_RD,     "fdtos")                          \
	X(LDGAAM,  93, VAR_RD,    "ldgaam")                         \
	X(LDTAAM,  94, VAR_RD,    "ldtaam")                         \
	X(LDTSM,   95, VAR_RD,    "ldtsm")                         
/* clang-format on */

enum dif_op {
#define X(op, number, operands, text) DIF_OP_##op = number,
	DIF_OPS(X)
#undef X
	DIF_OP_MAX = 95
};

enum dif_operands {
	DIF_FMT_R1_R2_RD,
	DIF_FMT_R1_RD,
	DIF_FMT_R1_R2,
	DIF_FMT_R1,
	DIF_FMT_LABEL,
	DIF_FMT_LOAD,
	DIF_FMT_STORE,
	DIF_FMT_RD,
	DIF_FMT_NONE,
	DIF_FMT_INT_RD,
	DIF_FMT_STR_RD,
	DIF_FMT_VAR_RD,
	DIF_FMT_RD_VAR,
	DIF_FMT_VAR_R2_RD,
	DIF_FMT_SUBR_RD,
	DIF_FMT_TUPLE,
	DIF_FMT_XLATE,
};

#define DIF_OP_IS_FLOAT(op) ((op) >= DIF_OP_FADD && (op) <= DIF_OP_FDTOS)

#define DIF_INSTR_OP(i) (((i) >> 24) & 0xff)
#define DIF_INSTR_R1(i) (((i) >> 16) & 0xff)
#define DIF_INSTR_R2(i) (((i) >> 8) & 0xff)
#define DIF_INSTR_RD(i) ((i)&0xff)
#define DIF_INSTR_LABEL(i) ((i)&0xffffff)
#define DIF_INSTR_IDX(i) (((i) >> 8) & 0xffff)

#define DIF_INSTR(op, r1, r2, rd)                                              \
	(((dt_u32)(op) << 24) | ((dt_u32)(r1) << 16) | ((dt_u32)(r2) << 8) |   \
	 (dt_u32)(rd))
#define DIF_INSTR_WITH_IDX(op, idx, rd)                                        \
	(((dt_u32)(op) << 24) | ((dt_u32)(idx) << 8) | (dt_u32)(rd))
#define DIF_INSTR_WITH_LABEL(op, label) (((dt_u32)(op) << 24) | (dt_u32)(label))

#define DIF_REG_R0 0 /* always contains 0 and cannot be written */
#define DIF_DIR_NREGS 8 /* integer registers */
#define DIF_DTR_NREGS 8 /* the size of the tuple stack */

/* The kind of a type, in dif_type.kind and in r1 of pushtr and pushtv. */
#define DIF_TYPE_CTF 0 /* any type that is not a string */
#define DIF_TYPE_STRING 1 /* a string, at most strsize bytes */

#endif
