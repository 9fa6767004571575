/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Reserves space for records in principal buffers, and publishes the records.
 *
 * The engine writes a record after the first `used` bytes of the buffer, and
 * publishes it by increasing `used`. If the clause faults, or if the thread
 * dies while it holds the shard, the record is not published.
 *
 * The option bufpolicy has three values:
 *   switch  The consumer exchanges the two buffers regularly. If a buffer is
 *           full, new records are dropped.
 *   fill    If a buffer is full, the shard records nothing more, and the
 *           session is marked as filled. The records of END are then written
 *           to the second buffer.
 *   ring    The newest records overwrite the oldest ones. `wrapped` is the
 *           offset of the oldest record. The records from `wrapped` to the end
 *           of the buffer (or to a header with epid 0) are older than those
 *           from 0 to `used`.
 *
 * A target can overwrite `used` and `wrapped`. The engine reads each of them
 * once, and writes only to offsets inside the buffer.
 */
#include "dif/mstate.h"

dt_u32 dt_record_bytes(const dt_u8 *base, const struct dt_arena *arena,
		       const dt_u8 *rec)
{
	struct dt_rechdr h;
	const struct dt_ecb *ecb;
	const struct dt_clause *clause;

	dt_copy(&h, rec, sizeof(h));
	if (!h.epid || h.epid > arena->ecbs.n)
		return 0;
	if (h.flags & DT_REC_ERROR)
		return sizeof(h) + sizeof(struct dt_rec_error);
	ecb = (const struct dt_ecb *)dt_at(base, arena->ecbs.at) + h.epid - 1;
	if (ecb->clause >= arena->clauses.n)
		return 0;
	clause = (const struct dt_clause *)dt_at(base, arena->clauses.at) +
		 ecb->clause;
	return clause->rec_bytes;
}

dt_u8 *dt_reserve_in(struct dt_mstate *m, struct dt_buffer *b, dt_off data,
		     dt_u64 size, dt_u32 bytes, dt_u32 drop)
{
	dt_u64 used = dt_once64(&b->used) & ~7ull;

	if (used > size || bytes > size - used) {
		if (drop < DTRACEDROP_N)
			m->shard->drops[drop]++;
		return DT_NULL;
	}
	m->record_in = b;
	m->record_end = used + bytes;
	return m->base + data + used;
}

/*
 * Discards records from the oldest one on, until the space up to the offset
 * `to` is free. Returns the offset of the oldest remaining record before `end`,
 * or 0 if none remains or the records are not valid.
 */
static dt_u64 dt_ring_free(struct dt_mstate *m, const dt_u8 *data,
			   dt_u64 oldest, dt_u64 to, dt_u64 end)
{
	while (oldest < to) {
		dt_u32 bytes = 0;

		if (end - oldest >= sizeof(struct dt_rechdr))
			bytes =
			    dt_record_bytes(m->base, m->arena, data + oldest);
		if (!bytes || bytes > end - oldest)
			return 0;
		oldest += bytes;
	}
	return oldest >= end ? 0 : oldest;
}

static dt_u8 *dt_reserve_ring(struct dt_mstate *m, struct dt_buffer *b,
			      dt_u8 *data, dt_u32 bytes)
{
	dt_u64 size = m->arena->plan.principal_bytes;
	dt_u64 used = dt_once64(&b->used) & ~7ull;
	dt_u64 oldest = dt_once64(&b->wrapped) & ~7ull;

	if (used > size || oldest > size || bytes > size) {
		m->shard->drops[DTRACEDROP_PRINCIPAL]++;
		return DT_NULL;
	}
	if (bytes > size - used) {
		if (size - used >= sizeof(struct dt_rechdr))
			dt_zero(data + used, sizeof(struct dt_rechdr));
		oldest = dt_ring_free(m, data, 0, bytes, used);
		used = 0;
	} else if (oldest) {
		oldest = dt_ring_free(m, data, oldest, used + bytes, size);
	}
	b->wrapped = oldest;
	if (b->used > used)
		dt_release64(&b->used, used);
	m->record_in = b;
	m->record_end = used + bytes;
	return data + used;
}

static dt_u8 *dt_reserve_fill(struct dt_mstate *m, dt_u32 active, dt_u32 bytes)
{
	const struct dt_shard_plan *plan = &m->arena->plan;
	dt_u8 *to;
	dt_u64 end = dt_once32(m->activity) == DT_ACTIVITY_COOLDOWN;

	to = dt_reserve_in(m, &m->shard->principal[active],
			   m->shard_at + plan->principal[active],
			   plan->principal_bytes, bytes, DTRACEDROP_N);
	if (to)
		return to;
	if (end)
		return dt_reserve_in(m, &m->shard->principal[active ^ 1],
				     m->shard_at + plan->principal[active ^ 1],
				     plan->principal_bytes, bytes,
				     DTRACEDROP_PRINCIPAL);
	dt_release32(&m->session->filled, 1);
	return DT_NULL;
}

dt_u8 *dt_reserve(struct dt_mstate *m, dt_u32 bytes)
{
	const struct dt_shard_plan *plan = &m->arena->plan;
	dt_u32 active = dt_once32(&m->shard->active) & 1;
	struct dt_buffer *b = &m->shard->principal[active];

	switch (m->arena->options[DTRACEOPT_bufpolicy]) {
	case DT_BUFPOLICY_RING:
		return dt_reserve_ring(
		    m, b, (dt_u8 *)m->shard + plan->principal[active], bytes);
	case DT_BUFPOLICY_FILL:
		return dt_reserve_fill(m, active, bytes);
	default:
		return dt_reserve_in(
		    m, b, m->shard_at + plan->principal[active],
		    plan->principal_bytes, bytes, DTRACEDROP_PRINCIPAL);
	}
}

void dt_publish(struct dt_mstate *m)
{
	dt_release64(&m->record_in->used, m->record_end);
}
