/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A rule that finds the caller's stack frame, for one address in the text. The agent
 * derives rules from call frame information. The injected runtime uses them to walk
 * stacks.
 *
 * For the innermost frame, `at` is the pc. For all other frames, `at` is the return
 * address minus one, because the return address may already belong to the next rule.
 * The CFA is the caller's stack pointer, and the caller's pc is the word below it.
 */
#ifndef ABI_FRAME_RULE_H
#define ABI_FRAME_RULE_H

#include "dif/types.h"

struct dt_rt_rule {
	dt_u64 at;
	/*
	 * The CFA is the sum of this field and the register that `from` selects. For
	 * DT_RT_FROM_AT_RBP, the CFA is in the word at %rbp plus this field.
	 */
	dt_s32 cfa;
	/*
	 * The address of the saved %rbp is the sum of this field and either the CFA or
	 * %rbp, as `rbp_from` selects.
	 */
	dt_s16 rbp;
	dt_u8 from;    /* enum dt_rt_rule_from */
	/*
	 * enum dt_rt_rule_from. DT_RT_FROM_NONE means that %rbp still has the caller's
	 * value.
	 */
	dt_u8 rbp_from;
};
enum dt_rt_rule_from {
	DT_RT_FROM_NONE, /* in `from`, this means that there is no caller */
	DT_RT_FROM_RSP,
	DT_RT_FROM_RBP,
	DT_RT_FROM_AT_RBP, /* the word at %rbp + cfa is the CFA */
	DT_RT_FROM_CFA,
	/*
	 * There is no unwind information, so the runtime uses the frame pointer. If
	 * %rbp is 0, there is no caller. Otherwise the saved %rbp is at %rbp, the
	 * return address is at %rbp + 8, and the caller's stack pointer is %rbp + 16.
	 */
	DT_RT_FROM_GUESS,
};
/*
 * The maximum distance in bytes from the stack pointer up to %rbp. If %rbp is farther
 * away, it is not used as a frame pointer.
 */
#define DT_RT_GUESS_REACH 0x4000

#endif
