/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Counters: aggregations without a key that native code adds to.
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

static int dt_counts(const struct dt_action *a)
{
	switch (a->kind) {
	case DTRACEAGG_count:
	case DTRACEAGG_sum:
	case DTRACEAGG_quantize:
	case DTRACEAGG_lquantize:
	case DTRACEAGG_llquantize:
		return !a->key_bytes && a->ntuple != DT_NTUPLE_INCREMENT;
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
	dt_u32 bytes = a->value_bytes + dt_touched_bytes(a);

	if (!dt_counts(a) || bytes > DT_COUNTERS_BYTES - l->counters_used)
		return;
	a->counters = l->counters_used;
	l->counters_used += DT_ALIGN(bytes, 8u);
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

/* -1: no room, call again. */
static int dt_counters_action(dt_u8 *base, const struct dt_arena *arena,
			      dt_u64 set, dt_u32 epid,
			      const struct dt_action *a, dt_u32 index,
			      struct dt_counters_out *out)
{
	dt_u64 at = (set << DT_COUNTERS_SHIFT) + a->counters;
	struct dt_aggent *e = (struct dt_aggent *)(out->to + out->used);
	dt_u64 bytes = sizeof(*e) + (dt_u64)a->value_bytes;

	if (bytes > out->max - out->used)
		return -1;
	if (!dt_counters_since(a, dt_at(base, arena->counters.sets + at),
			       dt_at(base, arena->counters.seen + at),
			       (dt_u64 *)(e + 1)))
		return 0;
	e->next = 0;
	e->hash = 0;
	e->bytes = (dt_u32)bytes;
	e->epid = epid;
	e->aggvar = (dt_u32)a->uarg;
	e->action = index;
	e->key_bytes = 0;
	e->value_bytes = a->value_bytes;
	out->used += bytes;
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
			if (a[k].counters &&
			    dt_counters_action(mem, arena, set, epid, &a[k], k,
					       &out) != 0)
				return (dt_s64)out.used;
		}
	}
	return (dt_s64)out.used;
}
