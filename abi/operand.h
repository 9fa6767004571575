/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The location of a static probe's argument. libdtrace reads the location from the
 * program's notes. The injected runtime, the agent and the kernel module read the
 * argument.
 */
#ifndef ABI_OPERAND_H
#define ABI_OPERAND_H

#include "dif/types.h"

enum dt_operand_form {
	DT_OPERAND_UNKNOWN, /* cannot be read */
	DT_OPERAND_CONST,   /* value */
	DT_OPERAND_GENERAL, /* reg */
	DT_OPERAND_VECTOR,  /* the low bytes of %xmm reg */
	DT_OPERAND_MEMORY,  /* at value + reg + index << shift */
};
#define DT_OPERAND_NO_REG 0xff
#define DT_OPERAND_SIGNED 1
#define DT_OPERAND_FLOAT 2     /* 4 bytes: D gets a double */
#define DT_OPERAND_HIGH_BYTE 4 /* %ah, %bh, %ch or %dh */
#define DT_OPERAND_FLAGS 7

struct dt_operand {
	dt_s64 value;
	dt_u8 form;  /* enum dt_operand_form */
	dt_u8 bytes; /* 1, 2, 4 or 8 */
	dt_u8 flags; /* DT_OPERAND_* above */
	dt_u8 reg;   /* in the order of the instruction encoding */
	dt_u8 index;
	dt_u8 shift;
	/* 'f' or 'g': the base of this segment is added; 0: none */
	dt_u8 segment;
	dt_u8 pad;
};

#endif
