/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Implements dynamic variables: elements of associative arrays, and
 * thread-local variables. All threads and processes of a session share one
 * space:
 *
 *   | struct dt_dynspace | buckets | slots | pool: chunks ...  |
 *
 * Thread-local integers have slots (slots.c). A small variable is stored in the
 * bucket that a hash of its key selects, if the bucket is free. Any other
 * variable has a chunk (chunks.c) in the bucket's chain. Storing 0 (or NULL)
 * frees a variable.
 *
 * A bucket's lock contains the holder's thread id. A failed operation counts
 * one of these drops:
 *   DYNDIRTY  a bucket stayed locked, or a chain is implausibly long
 *   DYNRINSE  other threads changed a free list at each attempt
 *   DYNAMIC   no chunk is available
 * If the holder has died, dt_dynvar_clean() frees the lock. Every step leaves
 * the chain consistent. A value is marked (DT_DYN_WRITING) while a thread
 * writes it. If that thread dies, the value reads as 0.
 *
 * Targets can overwrite the entire space. The engine checks each offset before
 * it uses the offset, reads sizes once, and limits the number of steps along a
 * chain.
 *
 * A structure is read in place, so a reader may find parts of two values. A
 * store through the address of a structure does nothing if the variable has
 * been freed.
 *
 * A failed load ends the clause, because a clause that continued with 0 could
 * overwrite the value. A failed store only counts its drop.
 */
#include "dif/chunks.h"

#define DT_DYN_CHAIN 4096 /* maximum number of steps along a chain */
/*
 * The number of buckets is a power of two. There is at most one bucket for each
 * DT_DYN_A_BUCKET bytes of the space, but there are at least 64 buckets.
 */
#define DT_DYN_A_BUCKET 256
#define DT_DYN_CLEANED 4096 /* buckets checked by one dt_dynvar_clean() call */

struct dt_dynkey {
	const dt_u8 *key;
	dt_u64 bytes;
	dt_u64 value_bytes;
	/*
	 * the value of dt_bucket.inside if this variable is in the bucket; 0 if
	 * the variable is too large for a bucket
	 */
	dt_u32 inside;
	struct dt_bucket *bucket;
};

struct dt_dynval {
	dt_u8 *at;	 /* the value; null: not found */
	dt_u32 *writing; /* the word that has the bit DT_DYN_WRITING */
	/* the bucket's `head` or a chunk's `next` that refers to `chunk` */
	dt_u32 *link;
	struct dt_chunk *chunk; /* null: the variable is in the bucket */
	int lost; /* 1: the search gave up before the end of the chain */
};

void dt_dynvar_layout(struct dt_arena *a)
{
	struct dt_dyn_plan *p = &a->dyn;
	dt_u64 at = DT_ALIGN(a->dynvars + sizeof(struct dt_dynspace), 64);

	p->n_buckets = 64;
	while (p->n_buckets * 2 <= a->dynvars_bytes / DT_DYN_A_BUCKET)
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

/*
 * Writes one part of the key and sets *bytes to its size. A string ends with
 * its NUL. Any other by-reference value is preceded by a 64-bit word that
 * contains its length. Returns -1 if there is not enough space.
 */
static int dt_key_part(struct dt_mstate *m, const struct dt_tuple *t, dt_u8 *to,
		       dt_u64 room, dt_u64 *bytes)
{
	int string = t->type == DIF_TYPE_STRING;
	dt_u64 head = string ? 0 : 8, size;

	if (!t->byref) {
		if (room < 8)
			return -1;
		dt_put64(to, t->value);
		*bytes = 8;
		return 0;
	}
	size = t->size;
	if (string && (!size || size > m->strsize))
		size = m->strsize;
	if (room < 16 || size > room - 16)
		return -1;
	if (string) {
		size = dt_copy_string(m, t->value, to, size);
	} else {
		dt_put64(to, size);
		dt_load_bytes(m, t->value, to + head, size);
	}
	*bytes = head + DT_ALIGN(size, 8);
	dt_zero(to + head + size, *bytes - head - size);
	return 0;
}

/*
 * Writes the key of a variable to unused scratch memory, and finds its bucket.
 * On failure, sets the fault and returns -1.
 */
static int dt_key_make(struct dt_mstate *m, const struct dt_dyn *d,
		       const struct dt_var *v, int use_tuple,
		       struct dt_dynkey *k)
{
	dt_u8 *to = dt_at(m->base, dt_scratch_at(m) + m->scratch_used);
	dt_u64 room = m->arena->plan.scratch_bytes - m->scratch_used;
	dt_u64 used = 8, part;

	if (room < 16) {
		dt_fault(m, DTRACEFLT_NOSCRATCH, 0);
		return -1;
	}
	dt_put64(to, (dt_u64)v->scope << 32 | v->id);
	if (v->scope == DIFV_SCOPE_THREAD) {
		dt_put64(to + used, dt_thread_key(m->host));
		used += 8;
	}
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
	k->inside = 0;
	if (used <= DT_DYN_INSIDE && k->value_bytes <= DT_DYN_INSIDE - used)
		k->inside = (dt_u32)(used | k->value_bytes << 8);
	k->bucket = &d->buckets[dt_hash(to, used, 0) & (d->n_buckets - 1)];
	return 0;
}

/* Finds the variable with this key. The caller must hold the bucket's lock. */
static struct dt_dynval dt_dyn_find(struct dt_mstate *m, const struct dt_dyn *d,
				    const struct dt_dynkey *k)
{
	struct dt_bucket *b = k->bucket;
	struct dt_dynval v = {DT_NULL, &b->inside, &b->head, DT_NULL, 0};

	if (k->inside &&
	    (dt_once32(&b->inside) & ~DT_DYN_WRITING) == k->inside &&
	    dt_same(b->room, k->key, k->bytes)) {
		v.at = b->room + k->bytes;
		return v;
	}
	for (int i = 0; i < DT_DYN_CHAIN; i++) {
		struct dt_chunk *c = dt_chunk_at(d, dt_once32(v.link));
		dt_u8 *key;

		if (!c)
			return v;
		key = dt_chunk_key(d, c, k->bytes, k->value_bytes);
		if (key && c->key_bytes == k->bytes &&
		    c->value_bytes == k->value_bytes &&
		    dt_same(key, k->key, k->bytes)) {
			v.chunk = c;
			v.at = key + k->bytes;
			v.writing = &c->class;
			return v;
		}
		v.link = &c->next;
	}
	m->shard->drops[DTRACEDROP_DYNDIRTY]++;
	v.lost = 1;
	return v;
}

/* --- get and set --- */

/*
 * Writes the first `bytes` bytes of a value of `all` bytes, and fills the rest
 * with zeros. Marks the value with DT_DYN_WRITING while it writes.
 */
static void dt_value_write(const struct dt_dynval *v, const void *from,
			   dt_u64 bytes, dt_u64 all)
{
	dt_u32 word = dt_once32(v->writing) & ~DT_DYN_WRITING;

	dt_release32(v->writing, word | DT_DYN_WRITING);
	/* the mark becomes visible before the bytes of the value */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	dt_copy(v->at, from, bytes);
	dt_zero(v->at + bytes, all - bytes);
	dt_release32(v->writing, word);
}


static void dt_dynvar_insert(struct dt_mstate *m, const struct dt_dyn *d,
			     const struct dt_dynkey *k, const void *from,
			     dt_u64 bytes);

/*
 * Returns the generation of the memory in which a variable is stored. The
 * generation changes when the variable is freed.
 */
static dt_u32 dt_gen_of(const struct dt_dynval *v, const struct dt_bucket *b)
{
	return v->chunk ? dt_once32(&v->chunk->class) & ~DT_DYN_WRITING
			: dt_once32(&b->gen);
}

/*
 * Returns the address of a value for the D program. Records in m->refs[] to
 * which variable the address belongs. The caller must hold the bucket's lock.
 */
static dt_u64 dt_dyn_address(struct dt_mstate *m, const struct dt_dynkey *k,
			     const struct dt_dynval *v)
{
	struct dt_dynref *r = &m->refs[m->n_refs++ % DT_DYNREFS];

	r->off = (dt_u64)(v->at - m->base);
	r->bytes = k->value_bytes;
	r->bucket = (dt_u64)((dt_u8 *)k->bucket - m->base);
	r->gen_word = v->chunk ? &v->chunk->class : &k->bucket->gen;
	r->gen = dt_gen_of(v, k->bucket);
	return DT_VBASE + r->off;
}

dt_u64 dt_dynvar_get(struct dt_mstate *m, dt_u32 scope, dt_u32 id, int how)
{
	const struct dt_var *v = dt_find_var(m->base, m->arena, scope, id);
	struct dt_dyn d;
	struct dt_dynkey k;
	struct dt_dynval old;
	dt_u64 result = 0;

	if (!v) {
		dt_fault(m, DTRACEFLT_ILLOP, 0);
		return 0;
	}
	dt_dyn_open(&d, m->base, m->arena);
	if (dt_key_make(m, &d, v, how & DT_DYN_ELEMENT, &k) != 0)
		return 0;
	if (!dt_bucket_take(m, k.bucket)) {
		dt_fault(m, DT_FAULT_DROPPED, 0);
		return 0;
	}
	old = dt_dyn_find(m, &d, &k);
	if (!old.at && !old.lost && (how & DT_DYN_MAKE)) {
		dt_dynvar_insert(m, &d, &k, DT_NULL, 0);
		old = dt_dyn_find(m, &d, &k);
	}
	if (old.at && dt_once32(old.writing) & DT_DYN_WRITING) {
		/*
		 * The value is marked as being written. The writer held the
		 * lock, but this thread holds the lock now. So the writer has
		 * died.
		 */
		if (how & DT_DYN_MAKE)
			dt_value_write(&old, &result, 0, k.value_bytes);
		else
			old.at = DT_NULL;
	}
	if (!old.at) {
		if (old.lost || (how & DT_DYN_MAKE))
			/* the drop has already been counted */
			dt_fault(m, DT_FAULT_DROPPED, 0);
	} else if (!dt_type_byref(&v->type)) {
		result = dt_once64((dt_u64 *)old.at);
	} else if (v->type.kind == DIF_TYPE_STRING) {
		result = dt_new_string(m, old.at,
				       dt_strnlen(old.at, k.value_bytes - 1));
	} else {
		result = dt_dyn_address(m, &k, &old);
	}
	dt_bucket_leave(k.bucket);
	return result;
}

/*
 * Copies a by-reference value to scratch memory after the key. Callers do not
 * hold the bucket's lock yet, because reading the value can be slow. Returns
 * the number of bytes.
 */
static dt_u64 dt_value_fetch(struct dt_mstate *m, const struct dt_var *v,
			     const struct dt_dynkey *k, dt_u64 from)
{
	dt_u64 room = m->arena->plan.scratch_bytes - m->scratch_used;
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

static void dt_dyn_fill(dt_u8 *to, const struct dt_dynkey *k, const void *from,
			dt_u64 bytes)
{
	dt_copy(to, k->key, k->bytes);
	dt_copy(to + k->bytes, from, bytes);
	dt_zero(to + k->bytes + bytes, k->value_bytes - bytes);
}

static void dt_dynvar_insert(struct dt_mstate *m, const struct dt_dyn *d,
			     const struct dt_dynkey *k, const void *from,
			     dt_u64 bytes)
{
	struct dt_bucket *b = k->bucket;
	struct dt_chunk *c;
	dt_u8 *key;

	if (!dt_once32(&d->space->used))
		dt_release32(&d->space->used, 1);
	if (k->inside && !dt_once32(&b->inside)) {
		dt_dyn_fill(b->room, k, from, bytes);
		dt_release32(&b->inside, k->inside);
		return;
	}
	c = dt_chunk_new(m, d,
			 sizeof(struct dt_chunk) + k->bytes + k->value_bytes);
	key = c ? dt_chunk_key(d, c, k->bytes, k->value_bytes) : DT_NULL;
	if (!key)
		return;
	c->class &= ~DT_DYN_WRITING;
	c->key_bytes = (dt_u32)k->bytes;
	c->value_bytes = (dt_u32)k->value_bytes;
	dt_dyn_fill(key, k, from, bytes);
	c->next = b->head;
	dt_release32(&b->head, dt_chunk_ref(d, c));
}

void dt_dynvar_set(struct dt_mstate *m, dt_u32 scope, dt_u32 id, dt_u64 value,
		   int use_tuple)
{
	const struct dt_var *v = dt_find_var(m->base, m->arena, scope, id);
	const void *from = &value;
	struct dt_dyn d;
	struct dt_dynkey k;
	struct dt_dynval old;
	dt_u64 bytes = 8;

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
	old = dt_dyn_find(m, &d, &k);
	if (old.at && value) {
		dt_value_write(&old, from, bytes, bytes);
	} else if (old.chunk) {
		dt_release32(old.link, dt_once32(&old.chunk->next));
		dt_chunk_free(m, &d, old.chunk);
	} else if (old.at) {
		dt_release32(&k.bucket->gen, dt_once32(&k.bucket->gen) + 1);
		dt_release32(&k.bucket->inside, 0);
	} else if (value && !old.lost) {
		dt_dynvar_insert(m, &d, &k, from, bytes);
	}
	dt_bucket_leave(k.bucket);
}

/*
 * Returns whether the bytes at `at` are in the value of a variable. The
 * variable's key begins at `start`, and the value follows the key. `key` and
 * `value` are their sizes.
 */
static int dt_in_value(const dt_u8 *start, dt_u64 key, dt_u64 value,
		       const dt_u8 *at, dt_u64 bytes)
{
	return at >= start + key && (dt_u64)(at - start - key) <= value &&
	       bytes <= value - (dt_u64)(at - start - key);
}

static int dt_stores_inside(const struct dt_dyn *d, const dt_u8 *at,
			    dt_u64 bytes)
{
	dt_u64 off = (dt_u64)(at - (const dt_u8 *)d->buckets);
	const struct dt_bucket *b = &d->buckets[off / sizeof(*b)];
	dt_u32 inside = dt_once32(&b->inside);
	dt_u32 key = inside & 0xff, value = inside >> 8 & 0xff;

	return key + value <= DT_DYN_INSIDE &&
	       dt_in_value(b->room, key, value, at, bytes);
}

/*
 * The remaining budget of a search for a chunk. It limits the work even if a
 * target has overwritten the space.
 */
struct dt_search {
	dt_u32 hashed; /* how many more bytes of keys it may hash */
	dt_u32 steps;  /* how many more steps along chains it may take */
};

/*
 * Returns whether the chunk is on the chain of this key's bucket, and so
 * belongs to a variable.
 */
static int dt_is_chunk(const struct dt_dyn *d, const struct dt_chunk *c,
		       const dt_u8 *key, dt_u32 key_bytes,
		       struct dt_search *left)
{
	dt_u32 ref;

	if (key_bytes > left->hashed)
		return 0;
	left->hashed -= key_bytes;
	ref = dt_once32(&d->buckets[dt_hash(key, key_bytes, 0) &
				    (d->n_buckets - 1)]
			     .head);
	for (; left->steps; left->steps--) {
		const struct dt_chunk *each = dt_chunk_at(d, ref);

		if (!each || each == c)
			return each != DT_NULL;
		ref = dt_once32(&each->next);
	}
	return 0;
}

/*
 * Returns whether the D program may store to these bytes of the space. A store
 * is allowed only in the value of a variable. If the bytes are in the pool, the
 * function searches backwards for the header of their chunk. It accepts a
 * header only if the chunk is on the chain of its key's bucket.
 */
static int dt_dynvar_stores(struct dt_mstate *m, dt_u64 off, dt_u64 bytes)
{
	struct dt_dyn d;
	dt_u8 *at = dt_at(m->base, off);
	struct dt_search left = {1 << 20, 65536};
	dt_u64 in_pool;

	dt_dyn_open(&d, m->base, m->arena);
	if (at >= (dt_u8 *)d.buckets &&
	    at < (dt_u8 *)(d.buckets + d.n_buckets))
		return dt_stores_inside(&d, at, bytes);
	if (at < d.pool || (dt_u64)(at - d.pool) >= d.pool_bytes)
		return 0;
	in_pool = (dt_u64)(at - d.pool) & ~(DT_DYN_UNIT - 1ull);
	for (dt_u64 back = sizeof(struct dt_chunk);
	     back <= in_pool && back <= DT_CHUNK_MOST; back += DT_DYN_UNIT) {
		struct dt_chunk *c =
		    (struct dt_chunk *)(d.pool + in_pool - back);
		dt_u32 key = dt_once32(&c->key_bytes);
		dt_u32 value = dt_once32(&c->value_bytes);
		dt_u8 *start;

		if (key > DT_CHUNK_MOST || value > DT_CHUNK_MOST ||
		    (dt_once32(&c->class) & DT_CHUNK_CLASS) >= DT_DYN_CLASSES)
			continue;
		start = dt_chunk_key(&d, c, key, value);
		if (start && dt_in_value(start, key, value, at, bytes) &&
		    dt_is_chunk(&d, c, start, key, &left))
			return 1;
	}
	return 0;
}

static const struct dt_dynref *dt_dynref_of(const struct dt_mstate *m,
					    dt_u64 off, dt_u64 bytes)
{
	dt_u32 n = m->n_refs < DT_DYNREFS ? m->n_refs : DT_DYNREFS;

	for (dt_u32 i = 1; i <= n; i++) {
		const struct dt_dynref *r =
		    &m->refs[(m->n_refs - i) % DT_DYNREFS];

		if (off - r->off <= r->bytes &&
		    bytes <= r->bytes - (off - r->off))
			return r;
	}
	return DT_NULL;
}

void dt_dynvar_put(struct dt_mstate *m, dt_u64 off, const void *from,
		   dt_u64 bytes)
{
	const struct dt_dynref *r = dt_dynref_of(m, off, bytes);
	struct dt_bucket *b;

	/*
	 * The address was loaded in an earlier firing, or so many loads ago
	 * that m->refs[] no longer contains it.
	 */
	if (!r) {
		if (dt_dynvar_stores(m, off, bytes))
			dt_copy(m->base + off, from, bytes);
		else
			dt_fault(m, DTRACEFLT_BADADDR, DT_VBASE + off);
		return;
	}
	b = dt_at(m->base, r->bucket);
	if (!dt_bucket_take(m, b))
		return;
	if ((dt_once32(r->gen_word) & ~DT_DYN_WRITING) == r->gen)
		dt_copy(m->base + off, from, bytes);
	dt_bucket_leave(b);
}

void dt_dynvar_clean(dt_u8 *base, const struct dt_arena *arena,
		     int (*alive)(dt_u32 owner))
{
	struct dt_dyn d;
	dt_u32 b;

	dt_dyn_open(&d, base, arena);
	if (!alive)
		return;
	if (!dt_once32(&d.space->used))
		return;
	b = dt_once32(&d.space->clean_bucket);
	for (dt_u32 i = 0; i < DT_DYN_CLEANED && i < d.n_buckets; i++, b++) {
		dt_u32 *lock = &d.buckets[b & (d.n_buckets - 1)].lock;
		dt_u32 holder = dt_once32(lock);

		if (holder && !alive(holder))
			dt_cas32(lock, holder, 0);
	}
	dt_release32(&d.space->clean_bucket, b);
}
