/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Shards. Only the holder of a shard's lock may fire probes with it or drain
 * it.
 *
 * The lock word is the holder's id. Firing never waits for it: it takes the
 * next free shard, starting with the one that it used last. A signal handler
 * that fires inside a firing of its own thread finds the lock held and also
 * takes another shard. A host that may wait a little tests its own shard a few
 * more times. Only the consumer waits, for a limited time, and only it takes a
 * shard away from a holder that no longer exists. Work that such a holder left
 * unfinished was never published: records count once `used` has moved past
 * them, aggregation entries once their bucket points to them.
 *
 * A parked shard is one whose aggregation buffer is almost full and that nobody
 * holds. Firing treats it as held, so the threads continue with the buffers of
 * other shards until the consumer has read this one. Without that, a consumer
 * that gets little CPU time would lose keys while most shards are empty. Only
 * the first plan.n_parkable shards can be parked; the others stay available to
 * firings that need no new key.
 */
#include "dif/mstate.h"

int dt_shard_take_any(struct dt_host *host)
{
	const struct dt_arena *arena = host->arena;
	dt_u32 n, first = dt_shards_of(host, arena, &n);
	dt_u32 no = first + (host->shard - first) % n;
	dt_u32 owner = host->owner ? host->owner : 1;
	struct dt_shard *own = dt_shard_at(host->arena, arena, no);

	/* Parts of a speculation in two shards would lose their order. */
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

static int dt_shard_fills(const struct dt_arena *arena, dt_u32 no,
			  const struct dt_shard *s)
{
	dt_u32 active = dt_once32(&s->agg_active) & 1;

	return no < arena->plan.n_parkable &&
	       dt_once64(&s->agg[active].used) >= dt_park_at(&arena->plan);
}

void dt_shard_leave(const struct dt_arena *arena, dt_u32 no,
		    struct dt_shard *s)
{
	dt_release32(&s->lock,
		     dt_shard_fills(arena, no, s) ? DT_SHARD_PARKED : 0);
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
