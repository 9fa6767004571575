/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * D's subroutines for locks: mutex_*() for a struct mutex, rw_*() for a struct
 * rw_semaphore. They run in any context.
 */
#ifndef KMOD_ASK_LOCK_H
#define KMOD_ASK_LOCK_H

#include <linux/types.h>

/*
 * Runs the subroutine with the number `subr` in dif/subrs.h. Returns 0 and sets
 * *value, or returns -1 and sets *bad to the address that could not be read.
 */
int dt_ask_lock(u32 subr, u64 lock, u64 *value, u64 *bad);

#endif
