/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Finds the slot of a thread-local integer. Native code needs this part of
 * slots.c, too.
 */
#ifndef DIF_SLOTS_H
#define DIF_SLOTS_H

#include "dif/types.h"

struct dt_slot {
	dt_u64 key; /* thread and variable; 0: never used */
	dt_u64 value;
};

/*
 * Returns the key of variable 0 of a thread (pid << 32 | tid). Returns 0 if the
 * pid or the tid is too large for a key.
 */
static inline dt_u64 dt_slot_key_of(dt_u64 thread)
{
	dt_u64 pid = thread >> 32, tid = (dt_u32)thread;

	if (pid >= 1 << 22 || tid >= 1 << 22)
		return 0;
	return 1ull << 60 | pid << 38 | tid << 16;
}

/*
 * Returns the hash of a key. The search for the key's slot starts at index hash
 * & (n_slots - 1).
 */
static inline dt_u32 dt_slot_hash_of(dt_u64 key)
{
	return (dt_u32)(key ^ key >> 13 ^ key >> 34);
}

/*
 * For variables with a smaller id, the key is the thread's key + id, and the
 * hash of that key is the thread's hash ^ id.
 */
#define DT_SLOT_EASY_IDS 8192

#endif
