// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Measures waits for locks, from the first contention_begin to the
 * contention_end.
 *
 * A wait for a mutex may cause several contention_begin events. During the
 * wait, the thread or an interrupt handler may wait for other locks. So a wait
 * is identified by its lock and its owner. The owner is a thread together with
 * its interrupt level.
 *
 * Each pair of owner and lock has 32 possible entries in a hash table. An owner
 * takes a free entry with cmpxchg(). From then on, only that owner reads and
 * writes the entry, so no lock is needed. If all 32 entries are taken, the wait
 * is not measured.
 *
 * At contention_end, one callback completes the times before the probes'
 * callbacks read them. Another callback frees the entry after the probes'
 * callbacks.
 */
#include "kmod/waits.h"

#include "kmod/consumer.h"

#include <linux/hardirq.h>
#include <linux/hash.h>
#include <linux/rwsem.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/tracepoint.h>

#define DT_WAIT_BITS 11
#define DT_WAIT_PLACES 32

static struct dt_wait dt_waits[1 << DT_WAIT_BITS];
static struct tracepoint *dt_begins, *dt_ends;
static u32 dt_watchers;

static u64 dt_waiting(void)
{
	return (u64)current |
	       (in_nmi() ? 3 : in_hardirq() ? 2 : in_serving_softirq() ? 1 : 0);
}

static struct dt_wait *dt_wait_place(u64 owner, u64 lock, bool take)
{
	u32 first = hash_64(owner ^ hash_64(lock, 64), DT_WAIT_BITS), i;
	struct dt_wait *w;

	for (i = 0; i < DT_WAIT_PLACES; i++) {
		w = &dt_waits[(first + i) % ARRAY_SIZE(dt_waits)];
		if (READ_ONCE(w->owner) == owner && w->lock == lock)
			return w;
	}
	for (i = 0; take && i < DT_WAIT_PLACES; i++) {
		w = &dt_waits[(first + i) % ARRAY_SIZE(dt_waits)];
		if (READ_ONCE(w->owner) || cmpxchg(&w->owner, 0, owner))
			continue;
		w->lock = lock;
		w->flags = 0;
		w->slept = w->failed = false;
		w->spun_ns = w->slept_ns = 0;
		return w;
	}
	return NULL;
}

const struct dt_wait *dt_wait_of(u64 lock)
{
	return dt_wait_place(dt_waiting(), lock, false);
}

static void dt_wait_add(struct dt_wait *w, u64 now)
{
	*(w->sleeps ? &w->slept_ns : &w->spun_ns) += now - w->since;
}

static bool dt_is_rwsem(u32 flags)
{
	return flags & (LCB_F_READ | LCB_F_WRITE) && !(flags & (LCB_F_SPIN | LCB_F_PERCPU));
}

static void dt_wait_begins(void *data, void *lock, unsigned int flags)
{
	struct dt_wait *w = dt_wait_place(dt_waiting(), (u64)lock, true);
	u64 now = ktime_get_mono_fast_ns();

	if (!w)
		return;
	if (w->flags)
		dt_wait_add(w, now);
	else if (dt_is_rwsem(flags))
		w->rwsem = atomic_long_read(&((struct rw_semaphore *)lock)->count);
	w->flags |= flags;
	w->sleeps = !(flags & LCB_F_SPIN);
	w->slept |= w->sleeps;
	w->since = now;
}

static void dt_wait_ends(void *data, void *lock, int result)
{
	struct dt_wait *w = dt_wait_place(dt_waiting(), (u64)lock, false);

	if (!w)
		return;
	dt_wait_add(w, ktime_get_mono_fast_ns());
	w->failed = result != 0;
}

static void dt_wait_ended(void *data, void *lock, int result)
{
	struct dt_wait *w = dt_wait_place(dt_waiting(), (u64)lock, false);

	if (w)
		smp_store_release(&w->owner, 0);
}

static const struct dt_callback {
	struct tracepoint **at;
	void *callback;
	int priority; /* our probes' callbacks have TRACEPOINT_DEFAULT_PRIO */
} dt_callbacks[] = {
    {&dt_ends, dt_wait_ended, 0},
    {&dt_ends, dt_wait_ends, 100},
    {&dt_begins, dt_wait_begins, 100},
};

bool dt_waits_are_for(const struct dt_stable *row)
{
	return row->how == DTK_STABLE_TRACEPOINT && !strcmp(row->source, "contention_end");
}

static void dt_take_back(u32 n)
{
	while (n--)
		tracepoint_probe_unregister(*dt_callbacks[n].at, dt_callbacks[n].callback, NULL);
}

int dt_waits_watch(void)
{
	int error = 0;
	u32 i;

	if (dt_watchers++)
		return 0;
	dt_begins = dt_tracepoint_find("contention_begin");
	dt_ends = dt_tracepoint_find("contention_end");
	if (!dt_begins || !dt_ends)
		error = -ENOENT;
	/* wait until callbacks that were removed earlier have returned */
	tracepoint_synchronize_unregister();
	memset(dt_waits, 0, sizeof(dt_waits));
	for (i = 0; !error && i < ARRAY_SIZE(dt_callbacks); i++)
		error = tracepoint_probe_register_prio(*dt_callbacks[i].at,
						       dt_callbacks[i].callback, NULL,
						       dt_callbacks[i].priority);
	if (error) {
		dt_take_back(i ? i - 1 : 0);
		dt_watchers--;
	}
	return error;
}

void dt_waits_leave(void)
{
	if (!--dt_watchers)
		dt_take_back(ARRAY_SIZE(dt_callbacks));
}
