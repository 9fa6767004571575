/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Counters: what native code adds to, for aggregations without a key and for
 * the first keys of those whose keys are integers.
 *
 *   set 0         whoever cannot be sure of its CPU, by locked instructions
 *   set 1 + CPU   who runs on that CPU, by one instruction that nothing divides
 *
 * An action has the same range of bytes in every set: its value, as struct
 * dt_aggent has it, and for sum() a word that says that something was added, be
 * it 0. Values only grow. What is new since the last drain is the difference
 * from what was seen then, which is kept where targets cannot write, and it is
 * told as an aggregation entry like any other, so that clear() and trunc() need
 * not know. A word is read once: what a thread adds meanwhile is the next
 * drain's.
 *
 * A target that scribbles over counters spoils its own trace: they are numbers,
 * and no place is computed from them.
 */
#include "dif/load.h"

/* Places that a hash can say: what a key has is a word or two, or a
 * distribution. */
#define DT_COUNTED_SMALL 1024
#define DT_COUNTED_LARGE 128

/* Integers alone, that fit a table's entry. */
static int dt_key_counts(const dt_u8 *base, const struct dt_action *a)
{
	if (a->key_bytes > DT_COUNTED_MAX_KEY)
		return 0;
	for (dt_u32 i = 1; i <= a->ntuple; i++) {
		const struct dt_action *part = a - i;
		const struct dt_difo *d = dt_at(base, part->difo);

		if (part->kind != DTRACEACT_DIFEXPR || !part->difo ||
		    d->rtype.kind == DIF_TYPE_STRING || d->rtype.flags ||
		    part->rec_size > 8 ||
		    (part->rec_size & (part->rec_size - 1)))
			return 0;
	}
	return 1;
}

static int dt_counts(const dt_u8 *base, const struct dt_action *a)
{
	switch (a->kind) {
	case DTRACEAGG_count:
	case DTRACEAGG_sum:
	case DTRACEAGG_quantize:
		return !a->key_bytes || dt_key_counts(base, a);
	case DTRACEAGG_lquantize:
	case DTRACEAGG_llquantize:
		return !a->key_bytes;
	default:
		return 0; /* is more than a sum of what happened */
	}
}

/* sum()'s word that says that there was something to add. */
static dt_u32 dt_touched_bytes(const struct dt_action *a)
{
	return a->kind == DTRACEAGG_sum ? 8 : 0;
}

void dt_counters_take(struct dt_loader *l, struct dt_action *a)
{
	dt_u64 bytes = a->value_bytes + dt_touched_bytes(a);
	dt_u32 keys = 0;

	if (a->ntuple == DT_NTUPLE_INCREMENT || !dt_counts(l->base, a))
		return;
	if (a->key_bytes) {
		keys = dt_counted_shift(a) > 5 ? DT_COUNTED_LARGE
					       : DT_COUNTED_SMALL;
		keys += DT_COUNTED_REACH - 1;
		bytes = ((dt_u64)keys << dt_counted_shift(a)) +
			((keys + 1ull) << dt_counted_key_shift(a));
	}
	if (bytes > DT_COUNTERS_BYTES - l->counters_used)
		return;
	a->counters = l->counters_used;
	a->counted_keys = keys;
	l->counters_used += (dt_u32)DT_ALIGN(bytes, 64ull);
}

/* The words of a value that are not counted: the parameters in front. */
static dt_u32 dt_fixed_words(const struct dt_action *a)
{
	return a->kind == DTRACEAGG_lquantize ||
	       a->kind == DTRACEAGG_llquantize;
}

/* What was added since; 0: nothing. */
static int dt_counters_since(const struct dt_action *a, dt_u64 *now,
			     dt_u64 *seen, dt_u64 *value)
{
	dt_u32 n = a->value_bytes / 8, i = dt_fixed_words(a);
	int any = 0;

	if (i)
		value[0] = a->arg;
	/* Set before something is added, so that it is taken before it is read.
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
};

/* What an entry is about. */
struct dt_counted {
	const struct dt_action *action;
	dt_u32 epid, index; /* of the action */
	const dt_u64 *key;  /* null: it has none */
	dt_u64 at;	    /* of the value, in sets and seen */
};

/* -1: no room, call again. */
static int dt_counters_entry(dt_u8 *base, const struct dt_arena *arena,
			     const struct dt_counted *what,
			     struct dt_counters_out *out)
{
	const struct dt_action *a = what->action;
	struct dt_aggent *e = (struct dt_aggent *)(out->to + out->used);
	dt_u64 *key = (dt_u64 *)(e + 1), *value = key + a->key_bytes / 8;
	dt_u64 bytes = sizeof(*e) + a->key_bytes + (dt_u64)a->value_bytes;

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
	for (dt_u32 i = 0; i < a->key_bytes / 8; i++)
		key[i] = dt_once64(&what->key[i]);
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
		(const dt_u64 *)(table + ((dt_u64)a->counted_keys << shift))))
		return 0;
	for (dt_u64 i = 0; i < a->counted_keys; i++) {
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

dt_s64 dt_drain_counters(void *mem, dt_u32 set, void *to, dt_u64 max)
{
	const struct dt_arena *arena = mem;
	const struct dt_clause *clauses = dt_at(mem, arena->clauses.at);
	struct dt_counters_out out = {to, max, 0};
	dt_u32 n = dt_acquire32(&arena->clauses.n);

	if (set > arena->counters.n_cpus)
		return 0;
	for (dt_u32 i = 0; i < n; i++) {
		const struct dt_action *a = dt_at(mem, clauses[i].actions);
		dt_u32 epid = dt_acquire32(&clauses[i].epid);

		for (dt_u32 k = 0; epid && k < clauses[i].n_actions; k++) {
			struct dt_counted what = {
			    &a[k], epid, k, DT_NULL,
			    ((dt_u64)set << DT_COUNTERS_SHIFT) + a[k].counters};

			if (!a[k].counters)
				continue;
			if ((a[k].counted_keys
				 ? dt_counters_keys(mem, arena, &what, &out)
				 : dt_counters_entry(mem, arena, &what,
						     &out)) != 0)
				return (dt_s64)out.used;
		}
	}
	return (dt_s64)out.used;
}
