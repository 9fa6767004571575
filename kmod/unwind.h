/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * ustack() with tables: the call frame information of a process's files, in the
 * form in which the consumer passes it (struct dtk_unwind_rule).
 *
 *   consumer ── processes, by mm ── maps, by address ── table ── rules, by place in the file
 *
 * Probes read these tables in any context and take no lock. A probe in an
 * unknown process records that process, so that the consumer can pass its
 * tables. Until then, frame pointers are used.
 */
#ifndef KMOD_UNWIND_H
#define KMOD_UNWIND_H

#include "abi/ioctl.h"

#include <linux/types.h>

struct dt_consumer;
struct dt_unwind;

struct dt_user_frame {
	unsigned long pc, sp, bp;
};
enum dt_unwound {
	DT_UNWOUND,	/* frame is now the caller's */
	/*
	 * the same for code that a signal interrupted: pc is the next
	 * instruction
	 */
	DT_INTERRUPTED,
	DT_OUTERMOST,
	DT_NO_RULE,
};
/*
 * Changes the frame to that of the caller. at: the pc, or the return address
 * minus one. The current process must be a user process.
 */
enum dt_unwound dt_unwind_step(struct dt_unwind *u, struct dt_user_frame *frame,
			       unsigned long at);
/* Reads a word of the current process's memory. */
bool dt_user_word(unsigned long at, unsigned long *value);

/* Called with the consumer's mutex held. */
long dt_unwind_table(struct dt_consumer *c, struct dtk_list *list);
long dt_unwind_maps(struct dt_consumer *c, struct dtk_unwind_maps __user *user);
long dt_unwind_strangers(struct dt_consumer *c, struct dtk_list *list);
/* Called when no probe fires any more. */
void dt_unwind_free(struct dt_consumer *c);

#endif
