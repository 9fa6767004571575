/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Walks the stack of a process for ustack(). Uses tables that contain the call
 * frame information of the process's files (struct dtk_unwind_rule).
 *
 *   consumer ── processes, by mm ── maps, by address ── table ── rules, by place in the file
 *
 * Probes read these tables in any context and take no lock. A probe that fires
 * in an unknown process records the id of the process. Until the consumer has
 * passed the maps and tables of the process, frame pointers are used.
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
	/* the frame is now the caller's frame; its pc is a return address */
	DT_UNWOUND,
	/*
	 * the frame now belongs to code that a signal interrupted; its pc is
	 * the next instruction to execute
	 */
	DT_INTERRUPTED,
	DT_OUTERMOST,	/* there is no caller, or it cannot be found */
	DT_NO_RULE,	/* no table has a rule for this address */
};
/*
 * Changes the frame to that of its caller. @at is the pc of interrupted code,
 * or a return address minus one. The current task must have user memory.
 */
enum dt_unwound dt_unwind_step(struct dt_unwind *u, struct dt_user_frame *frame,
			       unsigned long at);
/*
 * Reads a word of the current process's memory without waiting for a page.
 * Returns false if the word cannot be read.
 */
bool dt_user_word(unsigned long at, unsigned long *value);

/* The caller of these functions holds the consumer's mutex. */
long dt_unwind_table(struct dt_consumer *c, struct dtk_list *list);
long dt_unwind_maps(struct dt_consumer *c, struct dtk_unwind_maps __user *user);
long dt_unwind_strangers(struct dt_consumer *c, struct dtk_list *list);
/* Frees all tables and maps. Called when no probe can fire any more. */
void dt_unwind_free(struct dt_consumer *c);

#endif
