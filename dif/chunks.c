/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Allocates and frees chunks, which hold dynamic variables. Each size class has
 * a free list. The head of a list has a tag that changes with each operation,
 * which prevents the ABA problem. If a list is empty, a chunk is taken from the
 * unused part of the pool, or from the list of a larger class.
 */
#include "dif/chunks.h"

/* Returns the size of the chunks of a class: 64, 96, 128, 192, 256, 384 ... */
static dt_u64 dt_class_bytes(dt_u32 class)
{
	return (class & 1 ? 96ull : 64ull) << (class / 2);
}

static dt_u32 dt_class_of(dt_u64 bytes)
{
	dt_u32 class = 0;

	while (class < DT_DYN_CLASSES && dt_class_bytes(class) < bytes)
		class ++;
	return class;
}

/*
 * Takes a chunk from the free list of a class. Returns null if the list is
 * empty. Counts a drop and returns null if other threads change the list at
 * each of DT_DYN_SPINS attempts.
 */
static struct dt_chunk *dt_chunk_reuse(struct dt_mstate *m,
				       const struct dt_dyn *d, dt_u32 class)
{
	dt_u64 *list = &d->space->free[class];

	for (int i = 0; i < DT_DYN_SPINS; i++) {
		dt_u64 head = dt_once64(list);
		struct dt_chunk *c = dt_chunk_at(d, (dt_u32)head);

		if (!c)
			return DT_NULL;
		if (dt_cas64(list, head,
			     ((head >> 32) + 1) << 32 | dt_once32(&c->next)))
			return c;
		dt_pause();
	}
	m->shard->drops[DTRACEDROP_DYNRINSE]++;
	return DT_NULL;
}

void dt_chunk_free(struct dt_mstate *m, const struct dt_dyn *d,
		   struct dt_chunk *c)
{
	dt_u32 word = dt_once32(&c->class) & ~DT_DYN_WRITING;
	dt_u32 class = word & DT_CHUNK_CLASS, ref = dt_chunk_ref(d, c);
	dt_u64 *list;

	if (class >= DT_DYN_CLASSES)
		return;
	dt_release32(&c->class, (word + DT_CHUNK_GEN) & ~DT_DYN_WRITING);
	list = &d->space->free[class];
	for (int i = 0; i < DT_DYN_SPINS; i++) {
		dt_u64 head = dt_once64(list);

		__atomic_store_n(&c->next, (dt_u32)head, __ATOMIC_RELAXED);
		if (dt_cas64(list, head, ((head >> 32) + 1) << 32 | ref))
			return;
		dt_pause();
	}
	m->shard->drops[DTRACEDROP_DYNRINSE]++;
}

static struct dt_chunk *dt_chunk_grow(const struct dt_dyn *d, dt_u32 class)
{
	dt_u64 bytes = dt_class_bytes(class);

	for (int i = 0; i < DT_DYN_SPINS; i++) {
		dt_u64 at = dt_once64(&d->space->grown);

		if (at & (DT_DYN_UNIT - 1) || at > d->pool_bytes ||
		    bytes > d->pool_bytes - at)
			return DT_NULL;
		if (dt_cas64(&d->space->grown, at, at + bytes)) {
			struct dt_chunk *c = (struct dt_chunk *)(d->pool + at);

			c->class = class;
			return c;
		}
		dt_pause();
	}
	return DT_NULL;
}

struct dt_chunk *dt_chunk_new(struct dt_mstate *m, const struct dt_dyn *d,
			      dt_u64 bytes)
{
	dt_u32 class = dt_class_of(bytes);
	struct dt_chunk *c = DT_NULL;
	dt_u64 missed = m->shard->drops[DTRACEDROP_DYNRINSE];

	if (class < DT_DYN_CLASSES) {
		c = dt_chunk_reuse(m, d, class);
		if (!c)
			c = dt_chunk_grow(d, class);
		/* A chunk of a larger class is better than a drop. */
		while (!c && ++class < DT_DYN_CLASSES)
			c = dt_chunk_reuse(m, d, class);
	}
	if (!c && missed == m->shard->drops[DTRACEDROP_DYNRINSE])
		m->shard->drops[DTRACEDROP_DYNAMIC]++;
	return c;
}
