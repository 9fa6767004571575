/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Walks the stacks of the current task. A stack is stored as an array of
 * program counters, the innermost first. These functions run in any context.
 */
#ifndef KMOD_STACK_H
#define KMOD_STACK_H

#include "kmod/consumer.h"

/*
 * Stores the kernel stack, starting at the probe, in at most @max entries.
 * Returns the number of entries, which is 0 for a probe in user code.
 */
s64 dt_kernel_stack(const struct dt_context *x, u64 *pcs, u32 max);
/* Returns the number of frames of the kernel stack, at most 1024. */
u64 dt_stack_depth(const struct dt_context *x);
/*
 * Returns the return address of the function that contains the probe, or 0 if
 * it is not known.
 */
u64 dt_caller(const struct dt_context *x);
/*
 * Stores the stack of the process in at most @max entries. Returns the number
 * of entries, which is 0 for a kernel thread.
 */
s64 dt_user_stack(const struct dt_context *x, u64 *pcs, u32 max);

#endif
