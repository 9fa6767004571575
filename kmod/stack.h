/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Stacks of the current task. Program counters, the innermost first; in any context.
 */
#ifndef KMOD_STACK_H
#define KMOD_STACK_H

#include "kmod/consumer.h"

/* From the probe on: how many were stored, or -1. */
s64 dt_kernel_stack(const struct dt_context *x, u64 *pcs, u32 max);
u64 dt_stack_depth(const struct dt_context *x);
/* Of the function that the probe is in; 0: none is known. */
u64 dt_caller(const struct dt_context *x);
/* By the consumer's tables (unwind.h), or by frame pointers. */
s64 dt_user_stack(const struct dt_context *x, u64 *pcs, u32 max);

#endif
