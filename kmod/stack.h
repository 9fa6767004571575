/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Stacks of the current task: program counters, the innermost first. These
 * functions run in any context.
 */
#ifndef KMOD_STACK_H
#define KMOD_STACK_H

#include "kmod/consumer.h"

/*
 * Stores the stack, starting at the probe. Returns the number of stored
 * entries, or -1.
 */
s64 dt_kernel_stack(const struct dt_context *x, u64 *pcs, u32 max);
u64 dt_stack_depth(const struct dt_context *x);
/* Returns the caller of the function that contains the probe. 0: not known. */
u64 dt_caller(const struct dt_context *x);
/* Uses the consumer's tables (unwind.h), or frame pointers. */
s64 dt_user_stack(const struct dt_context *x, u64 *pcs, u32 max);

#endif
