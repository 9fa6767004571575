/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Waits in progress: their owner, their lock and their start (waits.c). */
#ifndef KMOD_WAITS_H
#define KMOD_WAITS_H

#include "abi/stable.h"

#include <linux/types.h>

#include <trace/events/lock.h>

struct dt_wait {
	u64 owner; /* 0: free */
	u64 lock;
	u32 flags;  /* LCB_F_* of all contention_begin events */
	bool slept; /* at least once */
	bool sleeps, failed;
	u64 since;	   /* ns */
	u64 spun_ns, slept_ns; /* complete at contention_end */
	u64 rwsem;	   /* the semaphore's count at the start of the wait */
};

/*
 * Call these with dt_tracepoints_lock held. Waits that start after
 * dt_waits_watch() are measured.
 */
bool dt_waits_are_for(const struct dt_stable *row);
int dt_waits_watch(void);
void dt_waits_leave(void);

/*
 * Returns the wait of this thread or interrupt. Call it in a callback of
 * contention_end. null: not measured.
 */
const struct dt_wait *dt_wait_of(u64 lock);

#endif
