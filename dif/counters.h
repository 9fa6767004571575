/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Keys that have counters: a table after the action's values, only in set 0.
 *
 *   counters                      dt_counted_at()
 *   | key 0's | key 1's | ...     | entry 0 | entry 1 | ... | is there any? |
 *   in every set                  in set 0
 *
 * The counters of the n-th entry are the n-th ones in every set. Both sizes are
 * powers of two. A key is stored at its hash place or one of the next places,
 * by the first thread that claims an empty entry, and is never removed. The
 * word after the last entry is set before the first key is stored.
 *
 * A key is stored as words: the EPID, if a part of the key is a name of the
 * probe, then each integer. From these words, the consumer makes the key that
 * the engine would make.
 */
#ifndef DIF_COUNTERS_H
#define DIF_COUNTERS_H

#include "dif/actions.h"
#include "dif/arena.h"
#include "dif/vars.h"

enum { DT_COUNTED_CLAIMED = 1, DT_COUNTED_KNOWN = 3 };
struct dt_counted_key {
	dt_u64 state;  /* KNOWN: the key is complete */
	dt_u64 key[1]; /* counted_words words */
};
#define DT_COUNTED_WORDS 3 /* maximum */
#define DT_COUNTED_REACH 8 /* number of places where a key may be */
#define DT_COUNTED_HASH 0x9e3779b97f4a7c15ull

/* log2 of an entry's size, and of an action's bytes per key in a set. */
static inline dt_u32 dt_counted_key_shift(const struct dt_action *a)
{
	return a->counted_words > 1 ? 5 : 4;
}
static inline dt_u32 dt_counted_shift(const struct dt_action *a)
{
	return a->value_bytes > 32 ? 10 : dt_counted_key_shift(a);
}
/* Returns the number of hash places: a power of two. */
static inline dt_u32 dt_counted_places(const struct dt_action *a)
{
	return a->counted_keys - (DT_COUNTED_REACH - 1);
}
/* Returns the table's offset in a set. */
static inline dt_u64 dt_counted_at(const struct dt_action *a)
{
	return a->counters + ((dt_u64)a->counted_keys << dt_counted_shift(a));
}
/* Returns whether a part of a key is exactly a name of the probe. */
static inline int dt_is_probe_name(const struct dt_action *part)
{
	return part->kind == DTRACEACT_DIFEXPR &&
	       part->brief.kind == DT_SHORT_VAR &&
	       part->brief.var >= DIF_VAR_probeprov &&
	       part->brief.var <= DIF_VAR_probename;
}

#endif
