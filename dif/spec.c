/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Implements speculations: records that are kept separately until commit() or
 * discard().
 *
 * Each shard has one buffer for each speculation. A state word for each
 * speculation contains its state, and the number of the shard that has its
 * records. If several shards have records, this number is DT_SPEC_MANY.
 * commit() moves the records in its own shard to the principal buffer.
 * dt_clean() later moves the records of other shards. Until then, the
 * speculation's id cannot be reused. A moved record gets the time of the move
 * as its time stamp.
 *
 *   INACTIVE -speculation()-> ACTIVE
 *   ACTIVE -commit()-> COMMITTING -dt_clean()-> INACTIVE
 *   ACTIVE -discard()-> DISCARDING -dt_clean()-> INACTIVE
 *
 * A thread that adds records holds its shard while it reads the state.
 * dt_clean() locks each shard, but skips a free shard whose buffer is empty. A
 * thread that later takes a skipped shard finds that the state is not ACTIVE,
 * and adds no records.
 */
#include "dif/mstate.h"

/*
 * A call to dt_spec_clean() stops when it has moved at least this number of
 * bytes. It stops only between two buffers.
 */
#define DT_SPEC_CLEAN_BYTES (8ull << 20)
/* dt_spec_clean() begins with a different speculation every 2^20 ns. */
#define DT_SPEC_TURN_SHIFT 20

static dt_u32 *dt_spec_word(struct dt_mstate *m, dt_u64 id)
{
	return &m->session->spec_state[id - 1];
}

static struct dt_buffer *
dt_spec_buffer(dt_u8 *base, const struct dt_arena *arena, dt_u32 no, dt_u32 id)
{
	dt_u8 *shard = (dt_u8 *)dt_shard_at(base, arena, no);

	return (struct dt_buffer *)(shard + arena->plan.specs) + id - 1;
}

static dt_u64 dt_spec_data(const struct dt_arena *arena, dt_u32 id)
{
	return arena->plan.spec_data + (id - 1ull) * arena->plan.spec_bytes;
}

dt_u64 dt_speculation(struct dt_mstate *m)
{
	dt_u32 n = m->arena->plan.n_specs;
	int busy = 0;

	for (dt_u32 i = 0; i < n; i++) {
		dt_u32 *word = &m->session->spec_state[i];
		dt_u32 state = DT_SPEC_STATE(dt_acquire32(word));

		if (state == DT_SPEC_INACTIVE &&
		    dt_cas32(word, DT_SPEC_INACTIVE, DT_SPEC_ACTIVE))
			return i + 1;
		busy |=
		    state == DT_SPEC_COMMITTING || state == DT_SPEC_DISCARDING;
	}
	m->shard->drops[busy ? DTRACEDROP_SPECBUSY : DTRACEDROP_SPECUNAVAIL]++;
	return 0;
}

int dt_spec_active(struct dt_mstate *m, dt_u32 id)
{
	return DT_SPEC_STATE(dt_acquire32(dt_spec_word(m, id))) ==
	       DT_SPEC_ACTIVE;
}

/*
 * Marks this shard as a writer in the state word of the speculation. Returns 0
 * if the speculation is not active, or if other threads changed the word at
 * each of 1000 attempts.
 */
static int dt_spec_join(struct dt_mstate *m, dt_u64 id)
{
	dt_u32 *word = dt_spec_word(m, id);

	for (int i = 0; i < 1000; i++) {
		dt_u32 old = __atomic_load_n(word, __ATOMIC_SEQ_CST);
		dt_u32 writer = DT_SPEC_WRITER(old);
		dt_u32 next = writer ? DT_SPEC_MANY : m->shard_no + 1;

		if (DT_SPEC_STATE(old) != DT_SPEC_ACTIVE)
			return 0;
		if (writer == m->shard_no + 1 || writer == DT_SPEC_MANY ||
		    dt_cas32(word, old, next << 8 | DT_SPEC_ACTIVE))
			return 1;
	}
	return 0;
}

/*
 * Returns whether the id is valid. Raises ILLOP if it is larger than nspec. The
 * id 0 is not valid, but raises no fault.
 */
static int dt_spec_valid(struct dt_mstate *m, dt_u64 id)
{
	if (id > m->arena->plan.n_specs)
		dt_fault(m, DTRACEFLT_ILLOP, 0);
	return id && !m->fault;
}

void dt_speculate(struct dt_mstate *m, dt_u64 id)
{
	struct dt_buffer *b;

	m->skip = 1;
	if (!dt_spec_valid(m, id) || !dt_spec_join(m, id))
		return;
	if (m->clause->flags & DT_CLAUSE_RECORDS) {
		b = dt_spec_buffer(m->base, m->arena, m->shard_no, (dt_u32)id);
		m->record = dt_reserve_in(
		    m, b, m->shard_at + dt_spec_data(m->arena, (dt_u32)id),
		    m->arena->plan.spec_bytes, m->clause->rec_bytes,
		    DTRACEDROP_SPEC);
		if (!m->record)
			return;
	}
	m->spec = (dt_u32)id;
	m->skip = 0;
}

/*
 * Moves the records that m->shard has for a speculation to the shard's
 * principal buffer. Their new time stamp is `time`, or the shard's last time if
 * that is later. Returns their total size, including records that were dropped
 * for lack of space.
 */
static dt_u64 dt_spec_move(struct dt_mstate *m, dt_u32 id, dt_u64 time)
{
	dt_u64 size = m->arena->plan.spec_bytes, at = 0;
	struct dt_buffer *b =
	    dt_spec_buffer(m->base, m->arena, m->shard_no, id);
	const dt_u8 *from = (dt_u8 *)m->shard + dt_spec_data(m->arena, id);
	dt_u64 used = dt_once64(&b->used) & ~7ull;
	struct dt_rechdr h;

	if (time < m->shard->last_timestamp)
		time = m->shard->last_timestamp;
	m->shard->last_timestamp = time;
	if (used > size)
		used = size;
	while (used - at >= sizeof(h)) {
		dt_u32 bytes = dt_record_bytes(m->base, m->arena, from + at);
		dt_u8 *to;

		if (!bytes || bytes > used - at)
			break;
		to = dt_reserve(m, bytes);
		if (to) {
			dt_copy(&h, from + at, sizeof(h));
			h.timestamp = time;
			dt_copy(to, &h, sizeof(h));
			dt_copy(to + sizeof(h), from + at + sizeof(h),
				bytes - sizeof(h));
			dt_publish(m);
		}
		at += bytes;
	}
	dt_release64(&b->used, 0);
	return at;
}

static void dt_spec_empty(struct dt_mstate *m, dt_u32 id)
{
	struct dt_buffer *b =
	    dt_spec_buffer(m->base, m->arena, m->shard_no, id);

	dt_release64(&b->used, 0);
}

static void dt_spec_end(struct dt_mstate *m, dt_u64 id, dt_u32 to)
{
	dt_u32 *word = dt_spec_word(m, id);
	dt_u32 old, writer;

	if (!dt_spec_valid(m, id))
		return;
	old = dt_acquire32(word);
	for (int i = 0; !dt_cas32(word, old, (old & ~0xffu) | to); i++) {
		old = dt_acquire32(word);
		if (DT_SPEC_STATE(old) != DT_SPEC_ACTIVE || i > 1000)
			return;
	}
	if (to == DT_SPEC_COMMITTING)
		dt_spec_move(m, (dt_u32)id, dt_now(m));
	else
		dt_spec_empty(m, (dt_u32)id);
	writer = DT_SPEC_WRITER(old);
	if (!writer || writer == m->shard_no + 1)
		dt_cas32(word, (old & ~0xffu) | to, DT_SPEC_INACTIVE);
}

void dt_commit(struct dt_mstate *m, dt_u64 id)
{
	if (dt_spec_valid(m, id) && dt_spec_active(m, (dt_u32)id))
		dt_spec_end(m, id, DT_SPEC_COMMITTING);
}

void dt_discard(struct dt_mstate *m, dt_u64 id)
{
	if (dt_spec_valid(m, id) && dt_spec_active(m, (dt_u32)id))
		dt_spec_end(m, id, DT_SPEC_DISCARDING);
}

/*
 * Moves or discards the records that one shard has for a speculation. `state`
 * is DT_SPEC_COMMITTING or DT_SPEC_DISCARDING. Subtracts the number of moved
 * bytes from *bytes, but not below 0. Returns 0 if the shard stayed locked.
 */
static int dt_spec_clean_shard(struct dt_mstate *m, dt_u32 id, dt_u32 state,
			       dt_u32 no, dt_u32 owner, dt_u64 now,
			       int (*alive)(dt_u32 owner), dt_u32 *spins,
			       dt_u64 *bytes)
{
	struct dt_shard *s = dt_shard_at(m->base, m->arena, no);
	struct dt_buffer *b = dt_spec_buffer(m->base, m->arena, no, id);
	int stolen;

	if (!__atomic_load_n(&s->lock, __ATOMIC_SEQ_CST) &&
	    !dt_once64(&b->used))
		return 1;
	if (dt_shard_wait(m->base, m->arena, no, owner, alive, spins, &stolen) !=
	    0)
		return 0;
	m->shard = s;
	m->shard_no = no;
	m->shard_at = m->arena->shards + no * m->arena->shard_bytes;
	if (state == DT_SPEC_COMMITTING) {
		dt_u64 moved = dt_spec_move(m, id, now);

		*bytes -= moved < *bytes ? moved : *bytes;
	} else {
		dt_spec_empty(m, id);
	}
	dt_shard_leave(m->arena, no, s);
	return 1;
}

int dt_spec_clean(dt_u8 *base, const struct dt_arena *arena, dt_u32 owner,
		  dt_u64 now, int (*alive)(dt_u32 owner))
{
	struct dt_mstate m;
	/*
	 * The limits `spins` and `bytes` apply to all shards together. With a
	 * limit for each shard, a target could delay the consumer by holding
	 * all shards. Each call begins with a different speculation and shard,
	 * so no shard waits forever.
	 */
	dt_u32 spins = 4 * DT_WAIT_SPINS;
	dt_u64 bytes = DT_SPEC_CLEAN_BYTES;
	dt_u32 n_specs = arena->plan.n_specs, n_shards = arena->n_shards;
	dt_u32 turn = (dt_u32)(now >> DT_SPEC_TURN_SHIFT);

	m.base = base;
	m.arena = arena;
	m.session = dt_at(base, arena->session);
	m.activity = &m.session->activity;
	for (dt_u32 i = 0; i < n_specs && bytes; i++) {
		dt_u32 id = 1 + (turn + i) % n_specs;
		dt_u32 *word = &m.session->spec_state[id - 1];
		dt_u32 old = __atomic_load_n(word, __ATOMIC_SEQ_CST);
		dt_u32 state = DT_SPEC_STATE(old);
		int all = 1;

		if (state != DT_SPEC_COMMITTING && state != DT_SPEC_DISCARDING)
			continue;
		for (dt_u32 j = 0; j < n_shards; j++)
			all &= bytes && dt_spec_clean_shard(
					    &m, id, state,
					    (turn + j) % n_shards, owner, now,
					    alive, &spins, &bytes);
		if (all)
			dt_cas32(word, old, DT_SPEC_INACTIVE);
	}
	return !bytes;
}
