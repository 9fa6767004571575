/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Drains shards for the consumer: exchanges the two buffers of a shard, then
 * copies the inactive one.
 *
 * The consumer holds the shard's lock only while it exchanges the buffers. The
 * inactive buffer needs no lock, because only one thread of the consumer
 * drains. With bufpolicy=fill or ring, principal buffers are not exchanged, and
 * the consumer holds the lock during the copy.
 *
 * Targets can write the memory that is copied. The caller must check records in
 * the copy. Aggregation entries are checked here: the copy is a sequence of
 * complete entries.
 */
#include "dif/mstate.h"

/*
 * Copies the records of a buffer, but not more than `max` bytes. If b->wrapped
 * is not 0, the older records are between b->wrapped and the end of the buffer.
 * They are copied first.
 */
static dt_s64 dt_copy_out(const dt_u8 *data, const struct dt_buffer *b,
			  dt_u64 size, dt_u8 *to, dt_u64 max)
{
	dt_u64 used = dt_once64(&b->used) & ~7ull;
	dt_u64 oldest = dt_once64(&b->wrapped) & ~7ull;
	dt_u64 older = 0;

	if (used > size)
		used = size;
	if (oldest > size)
		oldest = size;
	if (oldest)
		older = size - oldest;
	if (older > max)
		older = max;
	if (used > max - older)
		used = max - older;
	dt_copy(to, data + oldest, older);
	dt_copy(to + older, data, used);
	return (dt_s64)(older + used);
}

/*
 * Copies the records of a ring buffer. The older part, which begins at
 * `wrapped`, may end with padding. The padding is not copied.
 */
static dt_s64 dt_copy_ring(const dt_u8 *base, const struct dt_arena *arena,
			   const dt_u8 *data, const struct dt_buffer *b,
			   dt_u8 *to, dt_u64 max)
{
	dt_u64 size = arena->plan.principal_bytes;
	dt_u64 oldest = dt_once64(&b->wrapped) & ~7ull, end = oldest;
	dt_u64 used = dt_once64(&b->used) & ~7ull;

	while (oldest && end < size && size - end >= sizeof(struct dt_rechdr)) {
		dt_u32 bytes = dt_record_bytes(base, arena, data + end);

		if (!bytes || bytes > size - end)
			break;
		end += bytes;
	}
	if (used > size)
		used = size;
	if (oldest > size || end - oldest > max || used > max - (end - oldest))
		return 0;
	dt_copy(to, data + oldest, end - oldest);
	dt_copy(to + (end - oldest), data, used);
	return (dt_s64)(end - oldest + used);
}

static void dt_buffer_empty(struct dt_buffer *b)
{
	b->wrapped = 0;
	dt_release64(&b->used, 0);
}

dt_s64 dt_drain_principal(void *mem, dt_u32 no, dt_u32 owner, void *to,
			  dt_u64 max, int (*alive)(dt_u32 owner), dt_u32 *spins)
{
	const struct dt_arena *arena = mem;
	dt_u64 size = arena->plan.principal_bytes;
	dt_u64 policy = arena->options[DTRACEOPT_bufpolicy];
	struct dt_shard *s;
	dt_u32 active;
	dt_s64 n;
	dt_u32 most_spins = DT_WAIT_SPINS;
	int stolen;

	if (no >= arena->n_shards)
		return 0;
	s = dt_shard_at(mem, arena, no);
	if (!dt_once64(&s->principal[0].used) &&
	    !dt_once64(&s->principal[1].used) &&
	    !dt_once64(&s->principal[0].wrapped))
		return 0;
	if (dt_shard_wait(mem, arena, no, owner, alive,
			  spins ? spins : &most_spins, &stolen) != 0)
		return -1;
	active = dt_once32(&s->active) & 1;
	if (policy == DT_BUFPOLICY_SWITCH) {
		dt_buffer_empty(&s->principal[active ^ 1]);
		dt_release32(&s->active, active ^ 1);
		dt_shard_leave(arena, no, s);
		n = dt_copy_out((dt_u8 *)s + arena->plan.principal[active],
				&s->principal[active], size, to, max);
		dt_buffer_empty(&s->principal[active]);
		return n;
	}
	/*
	 * With bufpolicy=fill, the inactive buffer contains the records of END.
	 * They are copied when the active buffer is empty.
	 */
	if (policy == DT_BUFPOLICY_FILL &&
	    !dt_once64(&s->principal[active].used))
		active ^= 1;
	if (policy == DT_BUFPOLICY_RING)
		n = dt_copy_ring(mem, arena,
				 (dt_u8 *)s + arena->plan.principal[active],
				 &s->principal[active], to, max);
	else
		n = dt_copy_out((dt_u8 *)s + arena->plan.principal[active],
				&s->principal[active], size, to, max);
	dt_buffer_empty(&s->principal[active]);
	dt_shard_leave(arena, no, s);
	return n;
}

/*
 * Copies aggregation entries up to the end of the buffer or the first entry
 * that is not valid. Returns the number of bytes copied.
 */
static dt_s64 dt_copy_agg(const dt_u8 *data, dt_u64 start, dt_u64 used,
			  dt_u8 *to, dt_u64 max)
{
	dt_u64 at = start, n = 0;

	while (used - at >= sizeof(struct dt_aggent)) {
		const struct dt_aggent *e =
		    (const struct dt_aggent *)(data + at);
		dt_u64 bytes = dt_once32(&e->bytes);
		struct dt_aggent *copy = (struct dt_aggent *)(to + n);

		if (bytes < sizeof(*e) || (bytes & 7) || bytes > used - at ||
		    bytes > max - n)
			break;
		dt_copy(copy, e, bytes);
		copy->bytes = (dt_u32)bytes;
		if (bytes !=
		    sizeof(*copy) + (dt_u64)copy->key_bytes + copy->value_bytes)
			break;
		at += bytes;
		n += bytes;
	}
	return (dt_s64)n;
}

dt_s64 dt_drain_agg(void *mem, dt_u32 no, dt_u32 owner, void *to, dt_u64 max,
		    int (*alive)(dt_u32 owner), dt_u32 *spins)
{
	const struct dt_arena *arena = mem;
	const struct dt_shard_plan *plan = &arena->plan;
	dt_u64 start = DT_ALIGN(plan->agg_buckets * 4ull, 8);
	struct dt_shard *s;
	dt_u32 active;
	dt_u64 used;
	dt_s64 n = 0;
	dt_u32 most_spins = DT_WAIT_SPINS;
	int stolen;

	if (no >= arena->n_shards)
		return 0;
	s = dt_shard_at(mem, arena, no);
	if (!dt_once64(&s->agg[0].used) && !dt_once64(&s->agg[1].used))
		return 0;
	if (dt_shard_wait(mem, arena, no, owner, alive,
			  spins ? spins : &most_spins, &stolen) != 0)
		return -1;
	active = dt_once32(&s->agg_active) & 1;
	dt_release32(&s->agg_active, active ^ 1);
	dt_shard_leave(arena, no, s);
	used = dt_once64(&s->agg[active].used) & ~7ull;
	if (used > plan->agg_bytes)
		used = plan->agg_bytes;
	if (used > start)
		n = dt_copy_agg((dt_u8 *)s + plan->agg[active], start, used, to,
				max);
	dt_release64(&s->agg[active].used, 0);
	dt_agg_reset(s, plan, active);
	return n;
}

dt_u64 dt_fill(const void *mem, dt_u32 no, enum dt_buffer_kind kind)
{
	const struct dt_arena *arena = mem;
	const struct dt_shard *s;
	const struct dt_buffer *active;
	dt_u64 used, size;

	if (no >= arena->n_shards)
		return 0;
	s = dt_at(mem, arena->shards + no * arena->shard_bytes);
	if (kind == DT_BUFFER_PRINCIPAL) {
		active = &s->principal[dt_once32(&s->active) & 1];
		size = arena->plan.principal_bytes;
	} else {
		active = &s->agg[dt_once32(&s->agg_active) & 1];
		size = arena->plan.agg_bytes;
	}
	used = dt_once64(&active->used);
	return used < size ? used : size;
}

int dt_clean(void *mem, dt_u32 owner, dt_u64 now, int (*alive)(dt_u32 owner))
{
	const struct dt_arena *arena = mem;

	for (dt_u32 no = 0; alive && no < arena->n_shards; no++) {
		struct dt_shard *s = dt_shard_at(mem, arena, no);
		dt_u32 holder = dt_once32(&s->lock);

		if (holder && holder != owner && holder != DT_SHARD_PARKED &&
		    !alive(holder))
			dt_cas32(&s->lock, holder, 0);
	}
	if (alive)
		dt_slots_clean(mem, arena, alive);
	dt_dynvar_clean(mem, arena, alive);
	return dt_spec_clean(mem, arena, owner, now, alive);
}
