/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * ustack() by tables: what the call frame information of a process' files says, as the
 * consumer has written it down (struct dtk_unwind_rule).
 *
 *   consumer ── processes, by mm ── maps, by address ── table ── rules, by place in the file
 *
 * Probes look at them in any context and take no lock. What a probe encounters and does not know
 * is noted, for the consumer to ask for; until it is known frame pointers have to do.
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
	DT_UNWOUND,	/* it is the caller's frame now */
	DT_INTERRUPTED, /* the same, of what a signal has interrupted: pc is of the next instruction */
	DT_OUTERMOST,
	DT_NO_RULE,
};
/* `at`: pc, or of what has called one less. In the current process, which is a user's. */
enum dt_unwound dt_unwind_step(struct dt_unwind *u, struct dt_user_frame *frame,
			       unsigned long at);
/* A word of the current process' memory. */
bool dt_user_word(unsigned long at, unsigned long *value);

/* With the consumer's mutex held. */
long dt_unwind_table(struct dt_consumer *c, struct dtk_list *list);
long dt_unwind_maps(struct dt_consumer *c, struct dtk_unwind_maps __user *user);
long dt_unwind_strangers(struct dt_consumer *c, struct dtk_list *list);
/* When nothing fires any more. */
void dt_unwind_free(struct dt_consumer *c);

#endif
