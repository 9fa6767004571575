/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Adds values to aggregations. Each aggregating function NAME has a function
 * dt_agg_NAME().
 *
 * A shard's active aggregation buffer has a hash table at its start and entries
 * after it. Each entry is a struct dt_aggent, its key and its value. An entry
 * is complete before its bucket points to it. If a thread dies while it holds
 * the shard, at most one entry remains to which no bucket points.
 *
 * An entry with all buckets of quantize() takes 1 KB. Therefore a key of a
 * distribution starts with up to DT_AGG_POINTS short entries (struct
 * dt_aggpoint), each of which counts one bucket. An entry with all buckets is
 * added if these are not enough, or if the count of a short entry reaches
 * DT_AGG_HOT. The consumer adds up all entries of a key.
 *
 * Targets can write the buffer. Therefore the engine takes all sizes from the
 * clause, and uses an entry only if the entry has the same sizes.
 */
#include "dif/distribution.h"
#include "dif/mstate.h"
#include "dif/ops.h"

#define DT_AGG_CHAIN 100000
#define DT_AGG_POINTS 4	/* maximum number of short entries of a key */
/*
 * When the count of a short entry reaches this value, the next update of its
 * bucket adds an entry with all buckets, if there is room.
 */
#define DT_AGG_HOT 64

void dt_agg_reset(struct dt_shard *s, const struct dt_shard_plan *plan,
		  dt_u32 which)
{
	dt_zero((dt_u8 *)s + plan->agg[which],
		plan->agg_buckets * sizeof(dt_u32));
	dt_zero(&s->agg_hints[which], sizeof(s->agg_hints[which]));
}

static void dt_agg_count(dt_u64 *v, dt_u64 arg, dt_u64 value, dt_u64 incr)
{
	(void)arg;
	(void)value;
	(void)incr;
	v[0]++;
}

static void dt_agg_min(dt_u64 *v, dt_u64 arg, dt_u64 value, dt_u64 incr)
{
	(void)arg;
	(void)incr;
	if ((dt_s64)value < (dt_s64)v[0])
		v[0] = value;
}

static void dt_agg_max(dt_u64 *v, dt_u64 arg, dt_u64 value, dt_u64 incr)
{
	(void)arg;
	(void)incr;
	if ((dt_s64)value > (dt_s64)v[0])
		v[0] = value;
}

static void dt_agg_avg(dt_u64 *v, dt_u64 arg, dt_u64 value, dt_u64 incr)
{
	(void)arg;
	(void)incr;
	v[0]++;
	v[1] += value;
}

static void dt_agg_sum(dt_u64 *v, dt_u64 arg, dt_u64 value, dt_u64 incr)
{
	(void)arg;
	(void)incr;
	v[0] += value;
}

/*
 * This function is not inlined, because 128-bit arithmetic needs an aligned
 * stack. Only stddev() should pay for the alignment.
 */
static __attribute__((__noinline__)) void
dt_agg_stddev(dt_u64 *v, dt_u64 arg, dt_u64 value, dt_u64 incr)
{
	dt_u64 size = (dt_s64)value < 0 ? -value : value;
	unsigned __int128 square = (unsigned __int128)size * size;
	dt_u64 low = (dt_u64)square;

	dt_agg_avg(v, arg, value, incr);
	v[2] += low;
	v[3] += (dt_u64)(square >> 64) + (v[2] < low);
}

static void dt_agg_quantize(dt_u64 *v, dt_u64 arg, dt_u64 value, dt_u64 incr)
{
	v[dt_agg_word(DTRACEAGG_quantize, arg, (dt_s64)value)] += incr;
}

static void dt_agg_lquantize(dt_u64 *v, dt_u64 arg, dt_u64 value, dt_u64 incr)
{
	v[dt_agg_word(DTRACEAGG_lquantize, arg, (dt_s64)value)] += incr;
}

static void dt_agg_llquantize(dt_u64 *v, dt_u64 arg, dt_u64 value, dt_u64 incr)
{
	v[dt_agg_word(DTRACEAGG_llquantize, arg, (dt_s64)value)] += incr;
}

#define DT_INFINITY 0x7ff0000000000000ull /* the double +infinity, as bits */

static void dt_agg_start(dt_u64 *v, const struct dt_action *a, dt_u32 bytes)
{
	int is_float = dt_agg_is_float(a->kind, a->arg);

	dt_zero(v, bytes);
	if (a->kind == DTRACEAGG_min)
		v[0] = is_float ? DT_INFINITY : 0x7fffffffffffffffull;
	else if (a->kind == DTRACEAGG_max)
		v[0] = is_float ? 1ull << 63 | DT_INFINITY :
				  0x8000000000000000ull;
	else if (a->kind == DTRACEAGG_lquantize ||
		 a->kind == DTRACEAGG_llquantize)
		v[0] = a->arg;
}

DT_INLINE dt_u64 dt_agg_entry_bytes(const struct dt_action *a,
				    dt_u32 value_bytes)
{
	return sizeof(struct dt_aggent) + a->key_bytes + (dt_u64)value_bytes;
}

DT_INLINE dt_u64 *dt_agg_value(struct dt_aggent *e, const struct dt_action *a)
{
	return (dt_u64 *)((dt_u8 *)(e + 1) + a->key_bytes);
}

/*
 * Returns the value of the entry at offset `head`. Returns null if the entry
 * has a different key or a value of a different size. Compares only the first
 * key_used bytes of the keys, because the other bytes are zero.
 */
DT_INLINE dt_u64 *dt_agg_match(dt_u8 *buffer, dt_u64 size, dt_u32 head,
			       const struct dt_action *a, dt_u32 value_bytes,
			       const dt_u8 *key, dt_u64 key_used)
{
	struct dt_aggent *e = (struct dt_aggent *)(buffer + head);
	dt_u64 bytes = dt_agg_entry_bytes(a, value_bytes);

	if (e->aggvar == (dt_u32)a->uarg && e->key_bytes == a->key_bytes &&
	    e->value_bytes == value_bytes && bytes <= size - head &&
	    dt_same(e + 1, key, key_used))
		return dt_agg_value(e, a);
	return DT_NULL;
}

/* A search for the short entry of one key and one bucket. */
struct dt_agg_points {
	dt_u32 word;		   /* the bucket to find */
	dt_u32 n;		   /* number of the key's other short entries */
	struct dt_aggpoint *found; /* null if no entry has been found */
};

/*
 * Returns 1 and sets points->found if the entry at offset `head` is the key's
 * short entry for the bucket points->word. If the entry is a short entry of the
 * key for another bucket, increments points->n.
 */
static int dt_agg_is_point(dt_u8 *buffer, dt_u64 size, dt_u32 head,
			   const struct dt_action *a, const struct dt_mstate *m,
			   struct dt_agg_points *points)
{
	struct dt_aggpoint *p = (struct dt_aggpoint *)dt_agg_match(
	    buffer, size, head, a, sizeof(*p), m->key, m->key_used);

	if (!p)
		return 0;
	if (p->word == points->word)
		points->found = p;
	else
		points->n++;
	return points->found != DT_NULL;
}

/*
 * Finds the entry that an update of the key must change. Returns its value, or
 * null if there is no such entry. For a short entry, sets points->found and
 * returns null. The search starts at the offset *at. If an entry is found, *at
 * becomes its offset. `points` is null for functions that have no short
 * entries.
 */
static dt_u64 *dt_agg_find(dt_u8 *buffer, dt_u64 size, dt_u32 *at,
			   const struct dt_action *a, const struct dt_mstate *m,
			   dt_u32 hash, struct dt_agg_points *points)
{
	dt_u32 head = *at;

	for (int i = 0; head && i < DT_AGG_CHAIN; i++) {
		struct dt_aggent *e = (struct dt_aggent *)(buffer + head);
		dt_u64 *v;

		if ((head & 7) || head > size - sizeof(*e))
			return DT_NULL;
		if (e->hash == hash) {
			v = dt_agg_match(buffer, size, head, a, a->value_bytes,
					 m->key, m->key_used);
			*at = head;
			if (v)
				return v;
			if (points && dt_agg_is_point(buffer, size, head, a, m,
						      points))
				return DT_NULL;
		}
		head = dt_once32(&e->next);
	}
	return DT_NULL;
}

/*
 * Creates an entry for a key after the last entry of the buffer. The caller
 * writes the value, then calls dt_agg_publish(). Returns null if the buffer has
 * no room.
 */
static struct dt_aggent *dt_agg_create(struct dt_mstate *m,
				       const struct dt_buffer *b,
				       dt_u8 *buffer,
				       const struct dt_action *a,
				       dt_u32 value_bytes, dt_u32 hash)
{
	const struct dt_shard_plan *plan = &m->arena->plan;
	dt_u64 bytes = dt_agg_entry_bytes(a, value_bytes);
	dt_u64 used = dt_once64(&b->used);
	struct dt_aggent *e;

	if (used < plan->agg_buckets * sizeof(dt_u32))
		used = plan->agg_buckets * sizeof(dt_u32);
	used = DT_ALIGN(used, 8);
	if (used > plan->agg_bytes || bytes > plan->agg_bytes - used)
		return DT_NULL;
	e = (struct dt_aggent *)(buffer + used);
	e->hash = hash;
	e->bytes = (dt_u32)bytes;
	e->epid = m->epid;
	e->aggvar = (dt_u32)a->uarg;
	e->action = m->action - 1;
	e->key_bytes = a->key_bytes;
	e->value_bytes = value_bytes;
	dt_copy(e + 1, m->key, m->key_used);
	dt_zero((dt_u8 *)(e + 1) + m->key_used, a->key_bytes - m->key_used);
	return e;
}

/*
 * Adds a created entry to the buffer and to its bucket. Returns its offset. The
 * caller has already made the first update, so a thread that is killed never
 * leaves a key with the initial value.
 */
static dt_u32 dt_agg_publish(struct dt_mstate *m, struct dt_buffer *b,
			     dt_u8 *buffer, dt_u32 *bucket, struct dt_aggent *e,
			     dt_u64 bytes)
{
	const struct dt_shard_plan *plan = &m->arena->plan;
	dt_u32 at = (dt_u32)((dt_u8 *)e - buffer);
	dt_u64 end = at + bytes;

	e->next = *bucket;
	dt_release64(&b->used, end);
	dt_release32(bucket, at);
	if (DT_UNLIKELY(end >= dt_park_at(plan)))
		m->host->fills = m->host->shard < plan->n_parkable;
	return at;
}

/*
 * Returns the value of the entry at the offset *hint. Returns null if there is
 * no such entry, or if it has a different key or a value of a different size.
 */
DT_INLINE dt_u64 *dt_agg_hinted(dt_u8 *buffer, dt_u64 size, const dt_u32 *hint,
				const struct dt_action *a, dt_u32 value_bytes,
				const dt_u8 *key, dt_u64 key_used)
{
	dt_u32 head = dt_once32(hint);

	if (DT_LIKELY(head && !(head & 7) &&
		      head <= size - sizeof(struct dt_aggent)))
		return dt_agg_match(buffer, size, head, a, value_bytes, key,
				    key_used);
	return DT_NULL;
}

DT_INLINE dt_u32 *dt_agg_hint(struct dt_shard *s, dt_u32 active, dt_u64 of)
{
	dt_u64 slot = (of * 0x9e3779b97f4a7c15ull) >> 58;

	return &s->agg_hints[active].at[slot % DT_AGG_HINTS];
}

/*
 * Returns the sum of the words of the key. The sum selects the hint, because
 * the sum is fast to compute and differs for most keys.
 */
DT_INLINE dt_u64 dt_agg_sum_of(const struct dt_mstate *m)
{
	dt_u64 sum = 0;

	for (dt_u64 at = 0; at < m->key_used; at += 8)
		sum += dt_get64(m->key + at);
	return sum;
}

/*
 * Adds a double to an aggregation. min() and max() ignore a NaN. A sum to which
 * a NaN was added is a NaN.
 */
static void dt_agg_float(struct dt_mstate *m, const struct dt_action *a,
			 dt_u64 *v, dt_u64 value)
{
	dt_u64 square;

	switch (a->kind) {
	case DTRACEAGG_min:
		if (dt_float(m, DIF_OP_FLT, value, v[0]))
			v[0] = value;
		break;
	case DTRACEAGG_max:
		if (dt_float(m, DIF_OP_FLT, v[0], value))
			v[0] = value;
		break;
	case DTRACEAGG_sum:
		v[0] = dt_float(m, DIF_OP_FADD, v[0], value);
		break;
	case DTRACEAGG_stddev:
		square = dt_float(m, DIF_OP_FMUL, value, value);
		v[2] = dt_float(m, DIF_OP_FADD, v[2], square);
		/* fall through */
	default: /* avg() */
		v[0]++;
		v[1] = dt_float(m, DIF_OP_FADD, v[1], value);
		break;
	}
}

DT_INLINE void dt_agg_update(struct dt_mstate *m, const struct dt_action *a,
			     dt_u64 *v, dt_u64 value)
{
	dt_u64 incr = m->increment;

	if (DT_UNLIKELY(dt_agg_is_float(a->kind, a->arg))) {
		dt_agg_float(m, a, v, value);
		return;
	}
	switch (a->kind) {
#define X(name, kind, prototype)                                               \
	case kind:                                                             \
		dt_agg_##name(v, a->arg, value, incr);                         \
		break;
		DIF_AGGS(X)
#undef X
	default:
		break;
	}
}

/*
 * If the entry at the offset *hint is the short entry to update, updates this
 * entry and returns 1. Otherwise initializes `points` for the search and
 * returns 0.
 */
static int dt_agg_hinted_point(struct dt_mstate *m, dt_u8 *buffer,
			       const struct dt_action *a, dt_u64 value,
			       const dt_u32 *hint, struct dt_agg_points *points)
{
	struct dt_aggpoint *p = (struct dt_aggpoint *)dt_agg_hinted(
	    buffer, m->arena->plan.agg_bytes, hint, a, sizeof(*p), m->key,
	    m->key_used);

	points->word = dt_agg_word(a->kind, a->arg, (dt_s64)value);
	points->n = 0;
	points->found = DT_NULL;
	if (!p || p->word != points->word || p->count >= DT_AGG_HOT)
		return 0;
	p->count += m->increment;
	return 1;
}

/*
 * Creates an entry with the value of the first update. Returns its offset, or 0
 * if the buffer has no room. For a distribution, the first rule that applies is
 * used:
 *   - If the key has a short entry for this bucket, the new entry has all
 *     buckets.
 *   - If the key has fewer than DT_AGG_POINTS short entries, the new entry is
 *     short.
 *   - If there is room for all buckets, the new entry has all buckets.
 *     Otherwise it is short.
 */
static dt_u32 dt_agg_add(struct dt_mstate *m, dt_u32 active,
			 const struct dt_action *a, dt_u64 value, dt_u32 hash,
			 dt_u32 *bucket, const struct dt_agg_points *points)
{
	struct dt_buffer *b = &m->shard->agg[active];
	dt_u8 *buffer = (dt_u8 *)m->shard + m->arena->plan.agg[active];
	int may_be_short = points && !points->found;
	int is_short = may_be_short && points->n < DT_AGG_POINTS;
	dt_u32 bytes = is_short ? sizeof(struct dt_aggpoint) : a->value_bytes;
	struct dt_aggent *e = dt_agg_create(m, b, buffer, a, bytes, hash);
	dt_u64 *v;

	if (!e && may_be_short && !is_short) {
		is_short = 1;
		bytes = sizeof(struct dt_aggpoint);
		e = dt_agg_create(m, b, buffer, a, bytes, hash);
	}
	if (!e)
		return 0;
	v = dt_agg_value(e, a);
	if (is_short) {
		*(struct dt_aggpoint *)v = (struct dt_aggpoint){
			.word = points->word,
			.count = m->increment,
		};
	} else {
		dt_agg_start(v, a, bytes);
		dt_agg_update(m, a, v, value);
	}
	return dt_agg_publish(m, b, buffer, bucket, e,
			      dt_agg_entry_bytes(a, bytes));
}

/*
 * Updates the value of a key, and sets *hint to the offset of the key's entry.
 * Called if the entry at the old *hint cannot be used. If a new entry is needed
 * and the buffer has no room, counts a drop and sets *hint to 0.
 */
static __attribute__((__noinline__)) void
dt_agg_unhinted(struct dt_mstate *m, dt_u32 active, const struct dt_action *a,
		dt_u64 value, dt_u32 *hint)
{
	const struct dt_shard_plan *plan = &m->arena->plan;
	dt_u8 *buffer = (dt_u8 *)m->shard + plan->agg[active];
	struct dt_agg_points of_key, *points = DT_NULL;
	struct dt_aggpoint *found = DT_NULL;
	dt_u32 hash, at, added = 0, *bucket;
	dt_u64 *v;

	if (dt_agg_is_distribution(a->kind)) {
		points = &of_key;
		if (dt_agg_hinted_point(m, buffer, a, value, hint, points))
			return;
	}
	hash = dt_hash(m->key, m->key_used, a->uarg + 1);
	bucket = (dt_u32 *)buffer + (hash & (plan->agg_buckets - 1));
	at = dt_once32(bucket);
	v = dt_agg_find(buffer, plan->agg_bytes, &at, a, m, hash, points);
	if (points)
		found = points->found;
	if (!v && (!found || found->count >= DT_AGG_HOT))
		added = dt_agg_add(m, active, a, value, hash, bucket, points);
	if (added) {
		at = added;
	} else if (v) {
		dt_agg_update(m, a, v, value);
	} else if (found) {
		found->count += m->increment;
	} else {
		at = 0;
		m->shard->drops[DTRACEDROP_AGGREGATION]++;
	}
	*hint = at;
}

void dt_aggregate(struct dt_mstate *m, const struct dt_action *a, dt_u64 value)
{
	const struct dt_shard_plan *plan = &m->arena->plan;
	dt_u32 active = dt_once32(&m->shard->agg_active) & 1;
	dt_u8 *buffer = (dt_u8 *)m->shard + plan->agg[active];
	dt_u64 sum = dt_agg_sum_of(m);
	dt_u32 *hint = dt_agg_hint(m->shard, active,
				   sum + m->epid + m->action * 17);
	dt_u64 *v = dt_agg_hinted(buffer, plan->agg_bytes, hint, a,
				  a->value_bytes, m->key, m->key_used);

	if (DT_LIKELY(v != DT_NULL))
		dt_agg_update(m, a, v, value);
	else
		dt_agg_unhinted(m, active, a, value, hint);
}

int dt_agg_count_hinted(struct dt_shard *s, const struct dt_shard_plan *plan,
			const struct dt_action *a, dt_u32 epid)
{
	dt_u32 active = dt_once32(&s->agg_active) & 1;
	dt_u32 *hint = dt_agg_hint(s, active, (dt_u64)epid + 17);
	dt_u64 *v = dt_agg_hinted((dt_u8 *)s + plan->agg[active],
				  plan->agg_bytes, hint, a, a->value_bytes,
				  DT_NULL, 0);

	if (v)
		v[0]++;
	return v != DT_NULL;
}
