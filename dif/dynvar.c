/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Dynamic variables: associative arrays and thread-local variables.
 *
 * One space serves all threads and processes of a session:
 *
 *   | struct dt_dynspace | buckets: lock, head | slots | pool: chunks ...  |
 *
 * Thread-local integers have slots, in slots.c. Who finds none has a chunk, as
 * all other variables:
 *
 * A chunk is a header, the key, the value. Keys are made of 64-bit words: scope
 * and id, the thread for self->, and of each tuple part its length and bytes.
 * Storing 0 (or NULL) frees. chunks.c keeps what is free.
 *
 * A bucket's lock is the holder's thread id. Waiting is bounded; what could not
 * be had in time is a drop: DYNDIRTY when a bucket stayed busy, DYNRINSE when a
 * free list did, DYNDIRTY also when a chain is implausibly long; DYNAMIC when
 * there is no memory. A holder that died in a bucket is found by
 * dt_dynvar_clean(), which frees the lock: every step leaves the chain whole,
 * and a chunk whose value was being written is marked and reads as unset. At
 * worst the memory of one chunk is lost.
 *
 * Targets can scribble over all this. Offsets are checked each time one is
 * followed, sizes are read once, and chains are followed a bounded length.
 *
 * Strings are copied out under the lock. Structures are read where they are: a
 * thread that stores one while another reads it can mix them, as with global
 * variables.
 */
#include "dif/chunks.h"

#define DT_DYN_CHAIN 4096

/* A key and the place where it belongs. */
struct dt_dynkey {
	const dt_u8 *key;
	dt_u64 bytes;
	dt_u64 value_bytes;
	dt_u32 hash;
	struct dt_bucket *bucket;
};

void dt_dynvar_layout(struct dt_arena *a)
{
	struct dt_dyn_plan *p = &a->dyn;
	dt_u64 at = a->dynvars + sizeof(struct dt_dynspace);

	p->n_buckets = 64;
	while (p->n_buckets * 2 <= a->dynvars_bytes / 256)
		p->n_buckets *= 2;
	p->n_slots = DT_MIN_SLOTS;
	while (p->n_slots * 2 <= a->dynvars_bytes / 128)
		p->n_slots *= 2;
	p->buckets = at;
	at = DT_ALIGN(at + p->n_buckets * sizeof(struct dt_bucket), 64);
	p->slots = at;
	p->pool = at + p->n_slots * sizeof(struct dt_slot);
	p->pool_bytes = a->dynvars + a->dynvars_bytes - p->pool;
}

int dt_dynvar_layout_ok(const struct dt_arena *a)
{
	struct dt_arena again;

	if (a->dynvars_bytes < 8192 || a->dynvars_bytes > 1ull << 31)
		return 0;
	again.dynvars = a->dynvars;
	again.dynvars_bytes = a->dynvars_bytes;
	dt_dynvar_layout(&again);
	return dt_same(&again.dyn, &a->dyn, sizeof(a->dyn));
}

static void dt_dyn_open(struct dt_dyn *d, dt_u8 *base, const struct dt_arena *a)
{
	d->n_buckets = a->dyn.n_buckets;
	d->space = dt_at(base, a->dynvars);
	d->buckets = dt_at(base, a->dyn.buckets);
	d->pool = dt_at(base, a->dyn.pool);
	d->pool_bytes = a->dyn.pool_bytes;
}

void dt_dynvar_init(dt_u8 *base, const struct dt_arena *arena)
{
	struct dt_dynspace *space = dt_at(base, arena->dynvars);

	dt_zero(space, sizeof(*space));
}

static int dt_bucket_take(struct dt_mstate *m, struct dt_bucket *b)
{
	dt_u32 owner = dt_owner(m->host);

	for (int i = 0; i < DT_DYN_SPINS; i++) {
		if (!dt_once32(&b->lock) && dt_cas32(&b->lock, 0, owner))
			return 1;
		dt_pause();
	}
	m->shard->drops[DTRACEDROP_DYNDIRTY]++;
	return 0;
}

static void dt_bucket_leave(struct dt_bucket *b)
{
	dt_release32(&b->lock, 0);
}

/* --- keys --- */

static int dt_key_part(struct dt_mstate *m, const struct dt_tuple *t, dt_u8 *to,
		       dt_u64 room, dt_u64 *bytes)
{
	dt_u64 size;

	if (!t->byref) {
		if (room < 16)
			return -1;
		dt_put64(to, 8);
		dt_put64(to + 8, t->value);
		*bytes = 16;
		return 0;
	}
	size = t->size;
	if (t->type == DIF_TYPE_STRING && (!size || size > m->strsize))
		size = m->strsize;
	if (room < 16 || size > room - 16)
		return -1;
	if (t->type == DIF_TYPE_STRING)
		size = dt_copy_string(m, t->value, to + 8, size);
	else
		dt_load_bytes(m, t->value, to + 8, size);
	dt_put64(to, size);
	*bytes = 8 + DT_ALIGN(size, 8);
	dt_zero(to + 8 + size, *bytes - 8 - size);
	return 0;
}

/* Writes the key into unused scratch; 0, or -1 and a fault. */
static int dt_key_make(struct dt_mstate *m, const struct dt_dyn *d,
		       const struct dt_var *v, int use_tuple,
		       struct dt_dynkey *k)
{
	dt_u8 *to = dt_at(m->base, m->scratch_at + m->scratch_used);
	dt_u64 room = m->scratch_max - m->scratch_used, used = 16, part;

	if (room < used) {
		dt_fault(m, DTRACEFLT_NOSCRATCH, 0);
		return -1;
	}
	dt_put64(to, (dt_u64)v->scope << 32 | v->id);
	dt_put64(to + 8,
		 v->scope == DIFV_SCOPE_THREAD ? dt_thread_key(m->host) : 0);
	for (dt_u32 i = 0; use_tuple && i < m->n_tuple; i++) {
		if (dt_key_part(m, &m->tuple[i], to + used, room - used,
				&part) != 0)
			dt_fault(m, DTRACEFLT_NOSCRATCH, 0);
		if (m->fault)
			return -1;
		used += part;
	}
	k->key = to;
	k->bytes = used;
	k->value_bytes = dt_type_byref(&v->type) ? v->type.size : 8;
	k->hash = dt_hash(to, used, 0);
	k->bucket = &d->buckets[k->hash & (d->n_buckets - 1)];
	return 0;
}

/* The chunk with this key, and the link that points to it. Lock held. */
static struct dt_chunk *dt_chunk_find(struct dt_mstate *m,
				      const struct dt_dyn *d,
				      const struct dt_dynkey *k, dt_u32 **link,
				      int *lost)
{
	*link = &k->bucket->head;
	*lost = 0;
	for (int i = 0; i < DT_DYN_CHAIN; i++) {
		struct dt_chunk *c = dt_chunk_at(d, dt_once32(*link));
		dt_u8 *key;

		if (!c)
			return DT_NULL;
		key = dt_chunk_key(d, c, k->bytes, k->value_bytes);
		if (key && c->hash == k->hash && c->key_bytes == k->bytes &&
		    c->value_bytes == k->value_bytes &&
		    dt_same(key, k->key, k->bytes))
			return c;
		*link = &c->next;
	}
	m->shard->drops[DTRACEDROP_DYNDIRTY]++;
	*lost = 1;
	return DT_NULL;
}

/* --- get and set --- */

dt_u64 dt_dynvar_get(struct dt_mstate *m, dt_u32 scope, dt_u32 id,
		     int use_tuple)
{
	const struct dt_var *v = dt_find_var(m->base, m->arena, scope, id);
	struct dt_dyn d;
	struct dt_dynkey k;
	struct dt_chunk *c;
	dt_u32 *link;
	dt_u64 result = 0;
	dt_u8 *value;
	int lost;

	if (!v) {
		dt_fault(m, DTRACEFLT_ILLOP, 0);
		return 0;
	}
	dt_dyn_open(&d, m->base, m->arena);
	if (dt_key_make(m, &d, v, use_tuple, &k) != 0 ||
	    !dt_bucket_take(m, k.bucket))
		return 0;
	c = dt_chunk_find(m, &d, &k, &link, &lost);
	if (c && !dt_once32(&c->writing)) {
		value = (dt_u8 *)(c + 1) + k.bytes;
		if (!dt_type_byref(&v->type))
			result = dt_once64((dt_u64 *)value);
		else if (v->type.kind == DIF_TYPE_STRING)
			result = dt_new_string(
			    m, value, dt_strnlen(value, k.value_bytes - 1));
		else
			result = DT_VBASE + (dt_u64)(value - m->base);
	}
	dt_bucket_leave(k.bucket);
	return result;
}

/* By-ref values are fetched before the lock is taken: reads can be slow. */
static dt_u64 dt_value_fetch(struct dt_mstate *m, const struct dt_var *v,
			     const struct dt_dynkey *k, dt_u64 from)
{
	dt_u64 room = m->scratch_max - m->scratch_used;
	dt_u64 off = DT_ALIGN(k->bytes, 8);
	dt_u8 *to = (dt_u8 *)k->key + off;

	if (off > room || k->value_bytes > room - off) {
		dt_fault(m, DTRACEFLT_NOSCRATCH, 0);
		return 0;
	}
	if (v->type.kind != DIF_TYPE_STRING) {
		dt_load_bytes(m, from, to, k->value_bytes);
		return k->value_bytes;
	}
	return dt_copy_string(m, from, to, k->value_bytes);
}

static void dt_value_write(struct dt_chunk *c, const struct dt_dynkey *k,
			   const void *from, dt_u64 bytes)
{
	dt_u8 *value = (dt_u8 *)(c + 1) + k->bytes;

	dt_release32(&c->writing, 1);
	__atomic_thread_fence(__ATOMIC_RELEASE); /* before the value's bytes */
	dt_copy(value, from, bytes);
	dt_release32(&c->writing, 0);
}

static void dt_dynvar_insert(struct dt_mstate *m, const struct dt_dyn *d,
			     const struct dt_dynkey *k, const void *from,
			     dt_u64 bytes)
{
	struct dt_chunk *c = dt_chunk_new(
	    m, d, sizeof(struct dt_chunk) + k->bytes + k->value_bytes);
	dt_u8 *key = c ? dt_chunk_key(d, c, k->bytes, k->value_bytes) : DT_NULL;

	if (!key)
		return;
	if (!dt_once32(&d->space->used))
		dt_release32(&d->space->used, 1);
	c->hash = k->hash;
	c->key_bytes = (dt_u32)k->bytes;
	c->value_bytes = (dt_u32)k->value_bytes;
	dt_copy(key, k->key, k->bytes);
	dt_zero(key + k->bytes + bytes, k->value_bytes - bytes);
	dt_value_write(c, k, from, bytes);
	c->next = k->bucket->head;
	dt_release32(&k->bucket->head, dt_chunk_ref(d, c));
}

void dt_dynvar_set(struct dt_mstate *m, dt_u32 scope, dt_u32 id, dt_u64 value,
		   int use_tuple)
{
	const struct dt_var *v = dt_find_var(m->base, m->arena, scope, id);
	const void *from = &value;
	struct dt_dyn d;
	struct dt_dynkey k;
	struct dt_chunk *c;
	dt_u32 *link;
	dt_u64 bytes = 8;
	int lost;

	if (!v) {
		dt_fault(m, DTRACEFLT_ILLOP, 0);
		return;
	}
	dt_dyn_open(&d, m->base, m->arena);
	if (dt_key_make(m, &d, v, use_tuple, &k) != 0)
		return;
	if (value && dt_type_byref(&v->type)) {
		bytes = dt_value_fetch(m, v, &k, value);
		from = k.key + DT_ALIGN(k.bytes, 8);
		if (m->fault)
			return;
	}
	if (!dt_bucket_take(m, k.bucket))
		return;
	c = dt_chunk_find(m, &d, &k, &link, &lost);
	if (!value && c) {
		dt_release32(link, dt_once32(&c->next));
		dt_chunk_free(m, &d, c);
	} else if (value && c) {
		dt_value_write(c, &k, from, bytes);
	} else if (value && !lost) {
		dt_dynvar_insert(m, &d, &k, from, bytes);
	}
	dt_bucket_leave(k.bucket);
}

/*
 * May D store to these bytes of the pool? Only in the value of a structure,
 * which is found by following its bucket's chains; a store to a dynamic
 * structure's member is rare, so the walk over all buckets is not on any fast
 * path. It is bounded by the number of buckets and the chain limit.
 */
int dt_dynvar_stores(struct dt_mstate *m, dt_u64 off, dt_u64 bytes)
{
	struct dt_dyn d;
	dt_u8 *at = dt_at(m->base, off);
	dt_u32 budget = 65536;

	dt_dyn_open(&d, m->base, m->arena);
	for (dt_u32 b = 0; b < d.n_buckets; b++) {
		dt_u32 ref = dt_once32(&d.buckets[b].head);
		struct dt_chunk *c;

		while ((c = dt_chunk_at(&d, ref)) && budget--) {
			dt_u32 key = dt_once32(&c->key_bytes);
			dt_u32 value = dt_once32(&c->value_bytes);
			dt_u8 *start = dt_chunk_key(&d, c, key, value);

			if (start && at >= start + key &&
			    (dt_u64)(at - start - key) <= value &&
			    bytes <= value - (dt_u64)(at - start - key))
				return 1;
			ref = dt_once32(&c->next);
		}
	}
	return 0;
}

void dt_dynvar_clean(dt_u8 *base, const struct dt_arena *arena,
		     int (*alive)(dt_u32 owner))
{
	struct dt_dyn d;

	dt_dyn_open(&d, base, arena);
	if (!alive)
		return;
	dt_slots_clean(base, arena, &d.space->clean_next, alive);
	if (!dt_once32(&d.space->used))
		return;
	for (dt_u32 b = 0; b < d.n_buckets; b++) {
		dt_u32 holder = dt_once32(&d.buckets[b].lock);

		if (holder && !alive(holder))
			dt_cas32(&d.buckets[b].lock, holder, 0);
	}
}
