/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Waits in progress, each with its owner, lock and time so far (waits.c). */
#ifndef KMOD_WAITS_H
#define KMOD_WAITS_H

#include "abi/stable.h"

#include <linux/types.h>

#include <trace/events/lock.h>

struct dt_wait {
	u64 owner; /* 0: free */
	u64 lock;
	u32 flags;  /* LCB_F_* of all contention_begin events of this wait */
	bool slept; /* the owner has slept at least once during this wait */
	bool sleeps, failed;
	u64 since;	   /* time of the last contention_begin, in ns */
	u64 spun_ns, slept_ns; /* complete at contention_end */
	u64 rwsem;	   /* an rw_semaphore's count when the wait began */
};

/*
 * Call these functions with dt_tracepoints_lock held. Waits are measured if
 * they start between dt_waits_watch() and dt_waits_leave().
 */
bool dt_waits_are_for(const struct dt_stable *row);
int dt_waits_watch(void);
void dt_waits_leave(void);

/*
 * Returns the wait of this thread or interrupt for the lock, or null if the
 * wait is not measured. Call it in a callback of contention_end.
 */
const struct dt_wait *dt_wait_of(u64 lock);

#endif
