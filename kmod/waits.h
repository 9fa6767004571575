/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Who is waiting for which lock, and since when (waits.c).
 */
#ifndef KMOD_WAITS_H
#define KMOD_WAITS_H

#include "abi/stable.h"

#include <linux/types.h>

#include <trace/events/lock.h>

struct dt_wait {
	u64 owner; /* 0: free */
	u64 lock;
	u32 flags;  /* LCB_F_*, of all that it has waited by */
	bool slept; /* at least once */
	bool sleeps, failed;
	u64 since;	   /* ns */
	u64 spun_ns, slept_ns; /* complete at contention_end */
	u64 rwsem;	   /* the semaphore's count when it began */
};

/* With dt_tracepoints_lock held. Waits that begin from here on are known. */
bool dt_waits_are_for(const struct dt_stable *row);
int dt_waits_watch(void);
void dt_waits_leave(void);

/* That of this thread or interrupt, in a callback of contention_end; null: not known. */
const struct dt_wait *dt_wait_of(u64 lock);

#endif
