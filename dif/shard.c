/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Locks shards. Only the holder of a shard's lock may fire probes in the shard
 * or drain it.
 *
 * The lock contains the holder's thread id. A firing takes the first free
 * shard, beginning with the shard that the host used last. It tests the lock of
 * a busy shard at most shard_tries times (dif/host.h). The consumer waits for a
 * particular shard, but only for a limited time. Only the consumer takes a lock
 * from a holder that has died.
 *
 * A shard is parked if its aggregation buffer is almost full when the holder
 * unlocks the shard. Until the consumer has read the buffer, firings treat a
 * parked shard like a locked shard. Without parking, a slow consumer would lose
 * keys although other shards have room. Only the first plan.n_parkable shards
 * are parked, so that other shards remain available.
 */
#include "dif/mstate.h"

int dt_shard_take_any(struct dt_host *host)
{
	const struct dt_arena *arena = host->arena;
	dt_u32 n, first = dt_shards_of(host, arena, &n);
	dt_u32 no = first + (host->shard - first) % n;
	dt_u32 owner = host->owner ? host->owner : 1;
	struct dt_shard *own = dt_shard_at(host->arena, arena, no);

	/*
	 * Wait briefly for host->shard, so that firings of one thread usually
	 * use one shard. If the records of one speculation are in different
	 * shards, their order is lost.
	 */
	for (dt_u32 i = 0; i < host->shard_tries && dt_once32(&own->lock); i++)
		dt_pause();
	for (dt_u32 i = 0; i < n; i++) {
		struct dt_shard *s = dt_shard_at(host->arena, arena, no);

		if (!dt_once32(&s->lock) && dt_cas32(&s->lock, 0, owner)) {
			host->shard = no;
			return (int)no;
		}
		no = no + 1 < first + n ? no + 1 : first;
	}
	return -1;
}

dt_u32 dt_shard_idle(const struct dt_arena *arena, dt_u32 no,
		     const struct dt_shard *s)
{
	dt_u32 active = dt_once32(&s->agg_active) & 1;

	return no < arena->plan.n_parkable &&
			       dt_once64(&s->agg[active].used) >=
				       dt_park_at(&arena->plan) ?
		       DT_SHARD_PARKED :
		       0;
}

int dt_shard_wait(dt_u8 *base, const struct dt_arena *arena, dt_u32 no,
		  dt_u32 owner, int (*alive)(dt_u32 owner), dt_u32 *spins,
		  int *stolen)
{
	struct dt_shard *s = dt_shard_at(base, arena, no);
	dt_u32 holder = 0;

	*stolen = 0;
	for (int i = 0; i < DT_WAIT_SPINS; i++) {
		holder = dt_once32(&s->lock);
		if ((!holder || holder == DT_SHARD_PARKED) &&
		    dt_cas32(&s->lock, holder, owner))
			return 0;
		if (!*spins)
			break;
		--*spins;
		dt_pause();
	}
	if (holder && holder != DT_SHARD_PARKED && alive && !alive(holder) &&
	    dt_cas32(&s->lock, holder, owner)) {
		*stolen = 1;
		return 0;
	}
	return -1;
}
