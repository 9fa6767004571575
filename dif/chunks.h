/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The structures of the space for dynamic variables: buckets and chunks.
 * dynvar.c shows the layout of the space.
 */
#ifndef DIF_CHUNKS_H
#define DIF_CHUNKS_H

#include "dif/mstate.h"

/*
 * The number of attempts to take a lock or to change a free list. If all of
 * them fail, the operation counts a drop.
 */
#define DT_DYN_SPINS 2000
#define DT_DYN_CLASSES 24
/* The size of the chunks of the last class, in bytes. */
#define DT_CHUNK_MOST (96u << (DT_DYN_CLASSES / 2 - 1))
#define DT_DYN_UNIT 8 /* the unit of offsets in dt_chunk_ref(), in bytes */

/*
 * A bucket is one cache line. A small variable is stored in its bucket, so an
 * access costs a single cache miss. An access to a variable in a chunk costs
 * two.
 */
#define DT_DYN_INSIDE 48
struct dt_bucket {
	dt_u32 lock;
	/*
	 * dt_chunk_ref() of the bucket's first chunk; 0 if the bucket has no
	 * chunk
	 */
	dt_u32 head;
	/*
	 * 0 if room[] is empty; otherwise, size of the variable's key | size of
	 * its value << 8 | DT_DYN_WRITING while the value is being written
	 */
	dt_u32 inside;
	dt_u32 gen; /* changes each time that room[] becomes empty */
	dt_u8 room[DT_DYN_INSIDE]; /* the key, then the value */
};
DT_STATIC_ASSERT(sizeof(struct dt_bucket) == 64, "a bucket is a cache line");
#define DT_DYN_WRITING 0x80000000u /* the value is being written */

struct dt_dynspace {
	dt_u32 used;		     /* 1 once a value has been stored */
	dt_u32 clean_next;	     /* the slot that is cleaned next */
	dt_u32 clean_bucket;	     /* the bucket that is cleaned next */
	dt_u32 pad;
	dt_u64 grown; /* bytes of the pool that have been made into chunks */
	/*
	 * the free list of each class: tag << 32 | dt_chunk_ref() of the first
	 * chunk, which is 0 if the list is empty
	 */
	dt_u64 free[DT_DYN_CLASSES];
};

/* The header of a chunk. The key and the value follow it. */
struct dt_chunk {
	/*
	 * dt_chunk_ref() of the next chunk in the bucket or in the free list; 0
	 * if this chunk is the last one
	 */
	dt_u32 next;
	dt_u32 key_bytes;
	dt_u32 value_bytes;
	/*
	 * size class | generation | DT_DYN_WRITING while the value is written;
	 * each free adds DT_CHUNK_GEN, which changes the generation
	 */
	dt_u32 class;
};
#define DT_CHUNK_CLASS 0xffu
#define DT_CHUNK_GEN 0x100u

struct dt_dyn {
	struct dt_dynspace *space;
	struct dt_bucket *buckets;
	dt_u8 *pool;
	dt_u64 pool_bytes;
	dt_u32 n_buckets;
};

static inline struct dt_chunk *dt_chunk_at(const struct dt_dyn *d, dt_u32 ref)
{
	dt_u64 off = (ref - 1ull) * DT_DYN_UNIT;

	if (!ref || off > d->pool_bytes - sizeof(struct dt_chunk))
		return DT_NULL;
	return (struct dt_chunk *)(d->pool + off);
}

/* Returns 1 + the offset of the chunk in the pool, in units of DT_DYN_UNIT. */
static inline dt_u32 dt_chunk_ref(const struct dt_dyn *d,
				  const struct dt_chunk *c)
{
	return (dt_u32)(((const dt_u8 *)c - d->pool) / DT_DYN_UNIT) + 1;
}

/*
 * Returns the address of a chunk's key, or null if a key and a value of these
 * sizes would not be inside the pool.
 */
static inline dt_u8 *dt_chunk_key(const struct dt_dyn *d, struct dt_chunk *c,
				  dt_u64 key_bytes, dt_u64 value_bytes)
{
	dt_u8 *key = (dt_u8 *)(c + 1);
	dt_u64 room = d->pool_bytes - (dt_u64)(key - d->pool);

	if (key_bytes > room || value_bytes > room - key_bytes)
		return DT_NULL;
	return key;
}

/* --- chunks.c --- */
/*
 * Allocates a chunk of at least this size, including the header, and sets its
 * class. Returns null and counts a drop if no chunk is available.
 */
struct dt_chunk *dt_chunk_new(struct dt_mstate *m, const struct dt_dyn *d,
			      dt_u64 bytes);
/* Frees a chunk that no bucket refers to. */
void dt_chunk_free(struct dt_mstate *m, const struct dt_dyn *d,
		   struct dt_chunk *c);

#endif
