/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Keys that have counters: a table behind the action's values, in set 0 alone.
 *
 *   counters                      dt_counted_at()
 *   | key 0's | key 1's | ...     | entry 0 | entry 1 | ... | is there any? |
 *   in every set                  in set 0
 *
 * The n-th entry's counters are the n-th of every set; both are powers of two
 * in size. A key is put where its hash says or in the next places, by whoever
 * claims an empty entry first, and stays. The word behind the last entry is set
 * before there is any.
 *
 * A key is kept as words: the EPID, if a part of it is a name of the probe,
 * then each integer. The consumer makes the key of them that the engine would
 * make.
 */
#ifndef DIF_COUNTERS_H
#define DIF_COUNTERS_H

#include "dif/actions.h"
#include "dif/arena.h"
#include "dif/vars.h"

enum { DT_COUNTED_CLAIMED = 1, DT_COUNTED_KNOWN = 3 };
struct dt_counted_key {
	dt_u64 state;  /* KNOWN: its key is there */
	dt_u64 key[1]; /* counted_words of them */
};
#define DT_COUNTED_WORDS 3 /* at most */
#define DT_COUNTED_REACH 8 /* places that a key may have */
#define DT_COUNTED_HASH 0x9e3779b97f4a7c15ull

/* log2 of an entry's size, and of what an action has per key in a set. */
static inline dt_u32 dt_counted_key_shift(const struct dt_action *a)
{
	return a->counted_words > 1 ? 5 : 4;
}
static inline dt_u32 dt_counted_shift(const struct dt_action *a)
{
	return a->value_bytes > 32 ? 10 : dt_counted_key_shift(a);
}
/* How many places a hash can say: a power of two. */
static inline dt_u32 dt_counted_places(const struct dt_action *a)
{
	return a->counted_keys - (DT_COUNTED_REACH - 1);
}
/* Where the table is, from the start of a set. */
static inline dt_u64 dt_counted_at(const struct dt_action *a)
{
	return a->counters + ((dt_u64)a->counted_keys << dt_counted_shift(a));
}
/* Is a part of a key a name of the probe, and nothing else? */
static inline int dt_is_probe_name(const struct dt_action *part)
{
	return part->kind == DTRACEACT_DIFEXPR &&
	       part->brief.kind == DT_SHORT_VAR &&
	       part->brief.var >= DIF_VAR_probeprov &&
	       part->brief.var <= DIF_VAR_probename;
}

#endif
