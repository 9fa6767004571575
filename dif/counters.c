/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Allocates and drains the counters that native code increments. Aggregations
 * that only add to words, for example count() and sum(), have counters. If the
 * keys consist of a few integers and names of the probe, the aggregation gets a
 * table of keys (counters.h).
 *
 *   set 0         is for threads that do not know their CPU; they use locked
 *                 instructions
 *   set 1 + CPU   is for threads on that CPU; they use one instruction, which
 *                 cannot be interrupted in the middle
 *
 * An action has the same range of bytes in every set. For sum(), the word after
 * the value is set when a number, even 0, is added. Values are never reset. A
 * drain writes the differences from the values at the previous drain. These
 * previous values are stored where targets cannot write.
 *
 * A target that overwrites counters corrupts only the values of this trace. No
 * address is computed from a counter.
 */
#include "dif/counters.h"
#include "dif/distribution.h"
#include "dif/load.h"

/*
 * The number of entries that a hash can select in a table of keys. SMALL is for
 * values of up to 32 bytes, LARGE for distributions. The number is halved until
 * the table fits, but not below LEAST.
 */
#define DT_COUNTED_SMALL 4096
#define DT_COUNTED_LARGE 128
#define DT_COUNTED_LEAST 32

/*
 * Returns the number of words that store the key of an aggregation. Returns 0
 * if a part is neither an integer nor a name of the probe, or if there are too
 * many parts.
 */
static dt_u32 dt_key_words(const dt_u8 *base, const struct dt_action *a)
{
	dt_u32 named = 0, integers = 0;

	for (const struct dt_action *part = a - a->ntuple; part < a; part++) {
		const struct dt_difo *d = dt_at(base, part->difo);

		if (dt_is_probe_name(part)) {
			named = 1;
			continue;
		}
		if (part->kind != DTRACEACT_DIFEXPR || !part->difo ||
		    d->rtype.kind == DIF_TYPE_STRING || d->rtype.flags ||
		    part->rec_size > 8 ||
		    (part->rec_size & (part->rec_size - 1)))
			return 0;
		integers++;
	}
	return integers <= DT_COUNTED_WORDS - named ? named + integers : 0;
}

static int dt_counts(const dt_u8 *base, const struct dt_action *a)
{
	if (dt_agg_is_float(a->kind, a->arg))
		return 0; /* there is no atomic addition of doubles */
	switch (a->kind) {
	case DTRACEAGG_count:
	case DTRACEAGG_sum:
	case DTRACEAGG_quantize:
		return !a->key_bytes || dt_key_words(base, a);
	case DTRACEAGG_lquantize:
	case DTRACEAGG_llquantize:
		return !a->key_bytes;
	default:
		return 0; /* an update takes more than one addition */
	}
}

/*
 * Returns the size of the word that says whether sum() has added a number, or 0
 * for other functions.
 */
static dt_u32 dt_touched_bytes(const struct dt_action *a)
{
	return a->kind == DTRACEAGG_sum ? 8 : 0;
}

/*
 * Returns the total size of the counters for n_keys keys, the table of these
 * keys, and the entry after the table. The first word of that entry is set if
 * the table contains a key.
 */
static dt_u64 dt_counted_bytes(const struct dt_action *a, dt_u64 n_keys)
{
	return (n_keys << dt_counted_shift(a)) +
	       ((n_keys + 1) << dt_counted_key_shift(a));
}

void dt_counters_take(struct dt_loader *l, struct dt_action *a)
{
	dt_u64 bytes = a->value_bytes + dt_touched_bytes(a);
	dt_u64 room = DT_COUNTERS_BYTES - l->counters_used;
	dt_u32 places, keys = 0;

	if (a->ntuple == DT_NTUPLE_INCREMENT || !dt_counts(l->base, a))
		return;
	if (a->key_bytes) {
		a->counted_words = dt_key_words(l->base, a);
		places =
		    a->value_bytes > 32 ? DT_COUNTED_LARGE : DT_COUNTED_SMALL;
		do {
			keys = places + DT_COUNTED_REACH - 1;
			bytes = dt_counted_bytes(a, keys);
			places /= 2;
		} while (bytes > room && places >= DT_COUNTED_LEAST);
	}
	if (bytes > room)
		return;
	a->counters = l->counters_used;
	a->counted_keys = keys;
	l->counters_used += (dt_u32)DT_ALIGN(bytes, 64ull);
}

/*
 * Returns the number of words at the start of a value that contain parameters.
 * The other words are counters.
 */
static dt_u32 dt_fixed_words(const struct dt_action *a)
{
	return a->kind == DTRACEAGG_lquantize ||
	       a->kind == DTRACEAGG_llquantize;
}

/*
 * Computes the difference from the words at the previous drain, and stores the
 * current words in `seen`. Returns 0 if nothing was added.
 */
static int dt_counters_since(const struct dt_action *a, dt_u64 *now,
			     dt_u64 *seen, dt_u64 *value)
{
	dt_u32 n = a->value_bytes / 8, i = dt_fixed_words(a);
	int any = 0;

	if (i)
		value[0] = a->arg;
	/*
	 * sum() sets now[n] before it adds. The drain must clear now[n] before
	 * it reads the value. Otherwise it could miss an addition.
	 */
	if (dt_touched_bytes(a) && dt_once64(&now[n]))
		any = __atomic_exchange_n(&now[n], 0, __ATOMIC_SEQ_CST) != 0;
	for (; i < n; i++) {
		dt_u64 word = dt_once64(&now[i]);

		value[i] = word - seen[i];
		seen[i] = word;
		any |= value[i] != 0;
	}
	return any;
}

struct dt_counters_out {
	dt_u8 *to;
	dt_u64 max, used;
	dt_u64 first; /* the value of `place` at which this call begins */
	/*
	 * number of the current place, from 0; a place is an aggregation
	 * without a key, or an entry of a table of keys
	 */
	dt_u64 place;
};

/* The counters from which one aggregation entry is written. */
struct dt_counted {
	const struct dt_action *action;
	dt_u32 epid, index; /* index of the action in its clause */
	const dt_u64 *key;  /* null if the aggregation has no key */
	/* offset of the value in counters.sets and in counters.seen */
	dt_u64 at;
};

/*
 * Writes the part of a key that is a name of the probe. The EPID comes from a
 * target and is not trusted. If it is not valid, nothing is written.
 */
static void dt_counted_name(const dt_u8 *base, const struct dt_arena *arena,
			    const struct dt_action *part, dt_u64 epid,
			    dt_u8 *to)
{
	const struct dt_ecb *ecbs = dt_at(base, arena->ecbs.at);
	const struct dt_probe *probes = dt_at(base, arena->probes.at), *p;
	const dt_u8 *from;
	dt_off at;

	if (!epid || epid > dt_acquire32(&arena->ecbs.n))
		return;
	p = &probes[ecbs[epid - 1].probe - 1];
	at = part->brief.var == DIF_VAR_probeprov   ? p->provider
	     : part->brief.var == DIF_VAR_probemod  ? p->mod
	     : part->brief.var == DIF_VAR_probefunc ? p->func
						    : p->name;
	from = dt_at(base, at);
	dt_copy(to, from, dt_strnlen(from, part->rec_size - 1));
}

/* Converts the stored words to the key that the engine would have written. */
static void dt_counted_key(const dt_u8 *base, const struct dt_arena *arena,
			   const struct dt_counted *what, dt_u8 *key)
{
	const struct dt_action *a = what->action, *first = a - a->ntuple;
	const dt_u64 *word = what->key;
	dt_u64 epid = 0;

	dt_zero(key, a->key_bytes);
	for (const struct dt_action *part = first; part < a && !epid; part++)
		if (dt_is_probe_name(part))
			epid = dt_once64(word++);
	for (const struct dt_action *part = first; part < a; part++) {
		if (dt_is_probe_name(part))
			dt_counted_name(base, arena, part, epid,
					key + part->rec_offset);
		else
			dt_put_uint(key + part->rec_offset, dt_once64(word++),
				    part->rec_size);
	}
}

/*
 * Writes an aggregation entry if the counters have changed since the previous
 * drain. Returns 0, or -1 if the output has no space. After -1, the next call
 * to dt_drain_counters() starts with these counters.
 */
static int dt_counters_entry(dt_u8 *base, const struct dt_arena *arena,
			     const struct dt_counted *what,
			     struct dt_counters_out *out)
{
	const struct dt_action *a = what->action;
	struct dt_aggent *e = (struct dt_aggent *)(out->to + out->used);
	dt_u64 *value = (dt_u64 *)((dt_u8 *)(e + 1) + a->key_bytes);
	dt_u64 bytes = sizeof(*e) + a->key_bytes + (dt_u64)a->value_bytes;

	if (out->place < out->first)
		return 0;
	if (bytes > out->max - out->used)
		return -1;
	if (!dt_counters_since(a, dt_at(base, arena->counters.sets + what->at),
			       dt_at(base, arena->counters.seen + what->at),
			       value))
		return 0;
	e->next = 0;
	e->hash = 0;
	e->bytes = (dt_u32)bytes;
	e->epid = what->epid;
	e->aggvar = (dt_u32)a->uarg;
	e->action = what->index;
	e->key_bytes = a->key_bytes;
	e->value_bytes = a->value_bytes;
	if (what->key)
		dt_counted_key(base, arena, what, (dt_u8 *)(e + 1));
	out->used += bytes;
	return 0;
}

static int dt_counters_keys(dt_u8 *base, const struct dt_arena *arena,
			    struct dt_counted *what,
			    struct dt_counters_out *out)
{
	const struct dt_action *a = what->action;
	const dt_u8 *table =
	    dt_at(base, arena->counters.sets + dt_counted_at(a));
	dt_u32 shift = dt_counted_key_shift(a);
	dt_u64 at = what->at;

	if (!dt_once64(
		(const dt_u64 *)(table + ((dt_u64)a->counted_keys << shift)))) {
		out->place += a->counted_keys;
		return 0;
	}
	for (dt_u64 i = 0; i < a->counted_keys; i++, out->place++) {
		const struct dt_counted_key *k =
		    (const struct dt_counted_key *)(table + (i << shift));

		if (__atomic_load_n(&k->state, __ATOMIC_ACQUIRE) !=
		    DT_COUNTED_KNOWN)
			continue;
		what->key = k->key;
		what->at = at + (i << dt_counted_shift(a));
		if (dt_counters_entry(base, arena, what, out) != 0)
			return -1;
	}
	return 0;
}

dt_s64 dt_drain_counters(void *mem, dt_u32 set, dt_u64 *from, void *to,
			 dt_u64 max)
{
	const struct dt_arena *arena = mem;
	const struct dt_clause *clauses = dt_at(mem, arena->clauses.at);
	struct dt_counters_out out = {to, max, 0, *from, 0};
	dt_u32 n = dt_acquire32(&arena->clauses.n);

	if (set >= arena->counters.n_sets)
		return 0;
	for (dt_u32 i = 0; i < n; i++) {
		const struct dt_action *a = dt_at(mem, clauses[i].actions);
		dt_u32 epid = dt_acquire32(&clauses[i].epid);

		/*
		 * Targets never increment the counters of a clause that fires
		 * only in the private part. Any values are forged.
		 */
		if (arena->n_shared < arena->n_shards &&
		    !(dt_once32(&clauses[i].flags) & DT_CLAUSE_IN_TARGETS))
			continue;
		for (dt_u32 k = 0; epid && k < clauses[i].n_actions; k++) {
			struct dt_counted what = {
			    &a[k], epid, k, DT_NULL,
			    ((dt_u64)set << DT_COUNTERS_SHIFT) + a[k].counters};

			if (!a[k].counters)
				continue;
			if ((a[k].counted_keys
				 ? dt_counters_keys(mem, arena, &what, &out)
				 : dt_counters_entry(mem, arena, &what,
						     &out)) != 0) {
				*from = out.place;
				return (dt_s64)out.used;
			}
			out.place += !a[k].counted_keys;
		}
	}
	*from = DT_COUNTERS_DONE;
	return (dt_s64)out.used;
}
