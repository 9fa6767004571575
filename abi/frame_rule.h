/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * How a frame of the stack leads to its caller's, at one place of the text. The agent derives
 * rules from call frame information (process/call_frames.hpp), and the injected runtime walks
 * stacks by them.
 *
 * `at` is the pc of the innermost frame. In other frames it is one less than the return
 * address, since a call may be the last instruction that a rule holds for. The caller's pc is
 * the word under the CFA, and the CFA is the caller's stack pointer.
 */
#ifndef ABI_FRAME_RULE_H
#define ABI_FRAME_RULE_H

#include "dif/types.h"

struct dt_rt_rule {
	dt_u64 at;
	dt_s32 cfa;    /* added to what `from` says */
	dt_s16 rbp;    /* added to what `rbp_from` says: where it was saved */
	dt_u8 from;    /* enum dt_rt_rule_from */
	dt_u8 rbp_from; /* the same; DT_RT_FROM_NONE: it is the caller's still */
};
enum dt_rt_rule_from {
	DT_RT_FROM_NONE, /* of the CFA: there is no caller */
	DT_RT_FROM_RSP,
	DT_RT_FROM_RBP,
	DT_RT_FROM_AT_RBP, /* the word at %rbp + cfa is the CFA */
	DT_RT_FROM_CFA,
	/*
	 * Text without unwind information: what a frame pointer leads to, as
	 * libunwind guesses. %rbp is 0: no caller. Else it points to the caller's and
	 * the return address after that, and the stack pointer is taken to be 16 higher.
	 */
	DT_RT_FROM_GUESS,
};
/* How far a guessed %rbp may be above the stack pointer. */
#define DT_RT_GUESS_REACH 0x4000

#endif
