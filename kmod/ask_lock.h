/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What D asks about a lock: mutex_*() about a struct mutex, rw_*() about a struct
 * rw_semaphore. In any context: the lock is looked at as memory that may not be.
 */
#ifndef KMOD_ASK_LOCK_H
#define KMOD_ASK_LOCK_H

#include <linux/types.h>

/* A row of dif/subrs.h: 0 and *value, or -1 with *bad the address that could not be read. */
int dt_ask_lock(u32 subr, u64 lock, u64 *value, u64 *bad);

#endif
