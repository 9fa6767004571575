/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Implements thread-local integers, which are the most common dynamic
 * variables.
 *
 * The slots form a hash table of keys and values. The table has no locks,
 * because a key contains a thread's id and only that thread uses the key.
 * Storing 0 does not free a slot. A slot belongs to its key until dt_clean() in
 * the consumer finds that the thread has exited. If no slot is free, dynvar.c
 * stores the variable. A later store moves the variable to a slot if one has
 * become free.
 */
#include "dif/chunks.h"
#include "dif/mstate.h"

/* number of consecutive slots that may contain a key */
#define DT_SLOT_REACH 16
#define DT_SLOT_GONE 1	   /* key of a slot that was freed and may be reused */
#define DT_SLOT_CLEANED 32 /* slots checked by one dt_slots_clean() call */

/*
 * Returns the key of a variable: the thread and the variable's id. Returns 0 if
 * they do not fit into one word.
 */
DT_INLINE dt_u64 dt_slot_key(struct dt_mstate *m, dt_u32 id)
{
	dt_u64 key = dt_slot_key_of(dt_thread_key(m->host));

	return DT_LIKELY(key && id <= 0xffff) ? key | id : 0;
}

DT_INLINE struct dt_slot *dt_slot_first(struct dt_mstate *m, dt_u64 key)
{
	const struct dt_dyn_plan *p = &m->arena->dyn;

	return (struct dt_slot *)dt_at(m->base, p->slots) +
	       (dt_slot_hash_of(key) & (p->n_slots - 1));
}

/*
 * Returns the slot of a key. If the key has no slot, returns null and sets
 * *empty to a free slot that the key may take, or to null. Sets *elsewhere to 1
 * if dynvar.c may have stored the variable.
 */
static struct dt_slot *dt_slot_find(struct dt_mstate *m, dt_u64 key,
				    struct dt_slot **empty, int *elsewhere)
{
	const struct dt_dyn_plan *p = &m->arena->dyn;
	struct dt_slot *slots = dt_at(m->base, p->slots);
	dt_u32 at = dt_slot_hash_of(key);

	*empty = DT_NULL;
	*elsewhere = 0;
	for (int i = 0; i < DT_SLOT_REACH; i++) {
		struct dt_slot *slot = &slots[(at + i) & (p->n_slots - 1)];
		dt_u64 found = dt_once64(&slot->key);

		if (DT_LIKELY(found == key))
			return slot;
		if (found <= DT_SLOT_GONE && !*empty)
			*empty = slot;
		if (!found)
			return DT_NULL;
	}
	*elsewhere = 1;
	return DT_NULL;
}

enum dt_slotted {
	DT_SLOT_NO,  /* not stored: dynvar.c must store the value */
	DT_SLOT_YES, /* the value is in a slot, or it is 0 and needs no slot */
	/* stored in a new slot: dynvar.c must free its copy, if it has one */
	DT_SLOT_MOVED,
};

static enum dt_slotted dt_slot_set(struct dt_mstate *m, dt_u64 key,
				   dt_u64 value)
{
	for (int i = 0; i < DT_SLOT_REACH; i++) {
		struct dt_slot *empty, *slot;
		int elsewhere;
		dt_u64 was;

		slot = dt_slot_find(m, key, &empty, &elsewhere);
		if (DT_LIKELY(slot != DT_NULL)) {
			__atomic_store_n(&slot->value, value, __ATOMIC_RELAXED);
			return DT_SLOT_YES;
		}
		if (!empty || (elsewhere && !value))
			return DT_SLOT_NO;
		if (!value)
			return DT_SLOT_YES;
		was = dt_once64(&empty->key);
		if (was <= DT_SLOT_GONE && dt_cas64(&empty->key, was, key)) {
			__atomic_store_n(&empty->value, value,
					 __ATOMIC_RELAXED);
			return elsewhere ? DT_SLOT_MOVED : DT_SLOT_YES;
		}
		/*
		 * Another thread, or a signal handler of this thread, has taken
		 * the slot. Search again.
		 */
	}
	return DT_SLOT_NO;
}

void dt_slots_clean(dt_u8 *base, const struct dt_arena *arena,
		    int (*alive)(dt_u32 owner))
{
	struct dt_slot *slots = dt_at(base, arena->dyn.slots);
	struct dt_dynspace *space = dt_at(base, arena->dynvars);
	dt_u32 *next = &space->clean_next;
	dt_u32 at = dt_once32(next);

	for (int i = 0; i < DT_SLOT_CLEANED; i++, at++) {
		struct dt_slot *slot = &slots[at & (arena->dyn.n_slots - 1)];
		dt_u64 key = dt_once64(&slot->key);

		if (key <= DT_SLOT_GONE ||
		    alive((dt_u32)(key >> 16) & 0x3fffff))
			continue;
		slot->value = 0;
		dt_release64(&slot->key, DT_SLOT_GONE);
	}
	*next = at;
}

dt_u64 dt_slot_get(struct dt_mstate *m, dt_u32 id)
{
	dt_u64 key = dt_slot_key(m, id);
	struct dt_slot *slot = dt_slot_first(m, key), *empty;
	int elsewhere = 1;

	if (DT_LIKELY(dt_once64(&slot->key) == key && key))
		return dt_once64(&slot->value);
	if (key) {
		slot = dt_slot_find(m, key, &empty, &elsewhere);
		if (slot)
			return dt_once64(&slot->value);
	}
	return elsewhere ? dt_dynvar_get(m, DIFV_SCOPE_THREAD, id, 0) : 0;
}

void dt_slot_put(struct dt_mstate *m, dt_u32 id, dt_u64 value)
{
	dt_u64 key = dt_slot_key(m, id);
	struct dt_slot *slot = dt_slot_first(m, key);
	enum dt_slotted slotted;

	if (DT_LIKELY(dt_once64(&slot->key) == key && key)) {
		__atomic_store_n(&slot->value, value, __ATOMIC_RELAXED);
		return;
	}
	slotted = key ? dt_slot_set(m, key, value) : DT_SLOT_NO;
	if (slotted != DT_SLOT_YES)
		dt_dynvar_set(m, DIFV_SCOPE_THREAD, id,
			      slotted == DT_SLOT_MOVED ? 0 : value, 0);
}

int dt_has_slot(const dt_u8 *base, const struct dt_arena *arena, dt_u32 id)
{
	const struct dt_var *v =
	    dt_find_var(base, arena, DIFV_SCOPE_THREAD, id);

	return v && !dt_type_byref(&v->type);
}

dt_u64 dt_self_get(struct dt_mstate *m, dt_u32 id)
{
	return dt_has_slot(m->base, m->arena, id)
		   ? dt_slot_get(m, id)
		   : dt_dynvar_get(m, DIFV_SCOPE_THREAD, id, 0);
}

/*
 * Implements ldtsm, which is only for structures. Structures never have slots.
 */
dt_u64 dt_self_make(struct dt_mstate *m, dt_u32 id)
{
	return dt_dynvar_get(m, DIFV_SCOPE_THREAD, id, DT_DYN_MAKE);
}

void dt_self_set(struct dt_mstate *m, dt_u32 id, dt_u64 value)
{
	if (dt_has_slot(m->base, m->arena, id))
		dt_slot_put(m, id, value);
	else
		dt_dynvar_set(m, DIFV_SCOPE_THREAD, id, value, 0);
}
