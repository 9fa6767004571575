/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The table of the keys for which an aggregation has counters. Only set 0
 * contains the table, after the aggregation's counters.
 *
 *   a->counters                   dt_counted_at(a)
 *   | key 0's | key 1's | ...     | entry 0 | entry 1 | ... | is there any? |
 *   in every set                  in set 0
 *
 * The key in entry n has the counters "key n's" in every set. The key is in one
 * of the DT_COUNTED_REACH entries that start at its hash. Keys are never
 * removed. The word after the last entry ("is there any?") is set before the
 * first key is stored.
 *
 * A key is stored as words. If a part of the key is a name of the probe, the
 * first word is the EPID. The other words are the integers of the key.
 */
#ifndef DIF_COUNTERS_H
#define DIF_COUNTERS_H

#include "dif/actions.h"
#include "dif/arena.h"
#include "dif/vars.h"

enum { DT_COUNTED_CLAIMED = 1, DT_COUNTED_KNOWN = 3 };
struct dt_counted_key {
	/*
	 * 0: no key; CLAIMED: a thread is writing the key; KNOWN: the key is
	 * complete
	 */
	dt_u64 state;
	dt_u64 key[1]; /* counted_words words */
};
#define DT_COUNTED_WORDS 3 /* the maximum number of words of a key */
#define DT_COUNTED_REACH 8 /* the number of entries to search for a key */
#define DT_COUNTED_HASH 0x9e3779b97f4a7c15ull

/* Returns log2 of the size of an entry in the table of keys. */
static inline dt_u32 dt_counted_key_shift(const struct dt_action *a)
{
	return a->counted_words > 1 ? 5 : 4;
}
/* Returns log2 of the size of a key's counters in a set. */
static inline dt_u32 dt_counted_shift(const struct dt_action *a)
{
	return a->value_bytes > 32 ? 10 : dt_counted_key_shift(a);
}
/* Returns the number of entries that a hash can select, a power of two. */
static inline dt_u32 dt_counted_places(const struct dt_action *a)
{
	return a->counted_keys - (DT_COUNTED_REACH - 1);
}
/* Returns the offset of the table of keys in set 0. */
static inline dt_u64 dt_counted_at(const struct dt_action *a)
{
	return a->counters + ((dt_u64)a->counted_keys << dt_counted_shift(a));
}
/*
 * Returns whether a part of a key is one of the probe's names, such as
 * probefunc.
 */
static inline int dt_is_probe_name(const struct dt_action *part)
{
	return part->kind == DTRACEACT_DIFEXPR &&
	       part->brief.kind == DT_SHORT_VAR &&
	       part->brief.var >= DIF_VAR_probeprov &&
	       part->brief.var <= DIF_VAR_probename;
}

#endif
