/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The location of a static probe's argument, as described by the program's ELF notes.
 * The injected runtime, the agent or the kernel module reads the argument when the
 * probe fires.
 */
#ifndef ABI_OPERAND_H
#define ABI_OPERAND_H

#include "dif/types.h"

enum dt_operand_form {
	DT_OPERAND_UNKNOWN, /* cannot be read */
	DT_OPERAND_CONST,   /* the constant `value` */
	DT_OPERAND_GENERAL, /* the general register `reg` */
	DT_OPERAND_VECTOR,  /* the low bytes of the %xmm register `reg` */
	DT_OPERAND_MEMORY,  /* the memory at value + reg + (index << shift) */
};
#define DT_OPERAND_NO_REG 0xff
#define DT_OPERAND_SIGNED 1
#define DT_OPERAND_FLOAT 2     /* floating point; 4 bytes are converted to a double */
#define DT_OPERAND_HIGH_BYTE 4 /* %ah, %bh, %ch or %dh */
#define DT_OPERAND_FLAGS 7

struct dt_operand {
	dt_s64 value;
	dt_u8 form;  /* enum dt_operand_form */
	dt_u8 bytes; /* 1, 2, 4 or 8 */
	dt_u8 flags; /* DT_OPERAND_* above */
	dt_u8 reg;   /* register number in the instruction encoding, or DT_OPERAND_NO_REG */
	dt_u8 index; /* index register, numbered like `reg` */
	dt_u8 shift; /* scale of the index: 0 to 3 for 1, 2, 4 or 8 */
	/*
	 * 'f' or 'g': the base of %fs or %gs is added to the address; 0: no base is
	 * added
	 */
	dt_u8 segment;
	dt_u8 pad;
};

/*
 * Returns whether an indirect jump to the address `to` leaves its function. o[0] is the
 * jump's operand. The next elements are the start and the end of each part of the
 * function. A jump to the entry, which is the first start, counts as leaving.
 */
static inline int dt_leaves_function(const struct dt_operand *o, dt_u32 n, dt_u64 to)
{
	dt_u32 i;

	if (n > 1 && to == (dt_u64)o[1].value)
		return 1;
	for (i = 1; i + 1 < n; i += 2)
		if (to - (dt_u64)o[i].value <
		    (dt_u64)o[i + 1].value - (dt_u64)o[i].value)
			return 0;
	return 1;
}

#endif
