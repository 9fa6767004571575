/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A rule that finds the caller's stack frame, for one address in the text. The agent
 * derives rules from call frame information (process/call_frames.hpp), and the injected
 * runtime uses them to walk stacks.
 *
 * For the innermost frame, `at` is the pc. For all other frames, `at` is one less than
 * the return address, because a call may be the last instruction that a rule applies
 * to. The caller's pc is the word below the CFA, and the CFA is the caller's stack
 * pointer.
 */
#ifndef ABI_FRAME_RULE_H
#define ABI_FRAME_RULE_H

#include "dif/types.h"

struct dt_rt_rule {
	dt_u64 at;
	/*
	 * The CFA is the sum of this field and the register that `from` selects. With
	 * DT_RT_FROM_AT_RBP, the sum of this field and %rbp is the address of a word
	 * that contains the CFA.
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
	 * The text has no unwind information, so the runtime uses the frame pointer, as
	 * libunwind does. If %rbp is 0, there is no caller. Otherwise %rbp points to
	 * the saved %rbp of the caller, and the return address follows. The caller's
	 * stack pointer is then %rbp + 16.
	 */
	DT_RT_FROM_GUESS,
};
/*
 * The maximum distance in bytes of %rbp above the stack pointer. If %rbp is farther
 * away, it is not taken for a frame pointer.
 */
#define DT_RT_GUESS_REACH 0x4000

#endif
