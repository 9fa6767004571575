/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The structure of a slot, and the functions that find the slot of a
 * thread-local integer. The engine and the compiler of native code use them.
 */
#ifndef DIF_SLOTS_H
#define DIF_SLOTS_H

#include "dif/types.h"

struct dt_slot {
	dt_u64 key; /* thread and variable; 0 in a slot that was never used */
	dt_u64 value;
};

/*
 * Returns the thread's part of a key. The key of a variable is this number plus
 * the variable's id. `thread` is pid << 32 | tid. Returns 0 if the pid or the
 * tid is too large.
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
 * If the id of a variable is below this number, the hash of its key is
 * dt_slot_hash_of(thread's part of the key) ^ id. Native code computes the hash
 * of the thread's part once for each thread.
 */
#define DT_SLOT_EASY_IDS 8192

#endif
