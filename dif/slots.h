/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Where a thread-local integer's slot is: what native code has to know of slots.c.
 */
#ifndef DIF_SLOTS_H
#define DIF_SLOTS_H

#include "dif/types.h"

struct dt_slot {
	dt_u64 key; /* thread and variable; 0: never used */
	dt_u64 value;
};

/* The key of a thread (pid << 32 | tid) and its variable 0; 0: does not fit. */
static inline dt_u64 dt_slot_key_of(dt_u64 thread)
{
	dt_u64 pid = thread >> 32, tid = (dt_u32)thread;

	if (pid >= 1 << 22 || tid >= 1 << 22)
		return 0;
	return 1ull << 60 | pid << 38 | tid << 16;
}

/* Where the search for a key begins: this & (n_slots - 1). */
static inline dt_u32 dt_slot_hash_of(dt_u64 key)
{
	return (dt_u32)(key ^ key >> 13 ^ key >> 34);
}

/*
 * Variables less than this have the key of the thread + id, and the hash of that
 * key is the thread's ^ id.
 */
#define DT_SLOT_EASY_IDS 8192

#endif
