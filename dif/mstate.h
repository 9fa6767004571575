/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The state of a firing, and the functions that the engine's files share.
 *
 * A struct dt_mstate is a local variable of dt_fire(), which holds a shard. D
 * programs address arena memory as DT_VBASE + offset, and the target's memory
 * with the target's addresses. The engine uses addresses from a D program only
 * with dt_dmem() and the functions that are declared after it.
 *
 * Code that detects a fault calls dt_fault() and returns. Its callers check
 * m->fault. A fault ends the clause.
 */
#ifndef DIF_MSTATE_H
#define DIF_MSTATE_H

#include "dif/actions.h"
#include "dif/engine.h"
#include "dif/mem.h"
#include "dif/ops.h"
#include "dif/slots.h"
#include "dif/subrs.h"
#include "dif/vars.h"

struct dt_tuple {
	dt_u64 value;
	dt_u64 size;
	dt_u32 type;  /* DIF_TYPE_* */
	dt_u32 byref; /* 1: value is an address */
};

/*
 * The value of a dynamic variable whose address the D program has loaded. The
 * memory belongs to the variable while the generation in *gen_word is gen.
 * DT_DYN_WRITING is not part of the generation.
 */
struct dt_dynref {
	dt_u64 off, bytes; /* offset in the arena and size of the value */
	dt_u64 bucket;	   /* offset of the bucket in the arena */
	dt_u32 *gen_word;
	dt_u32 gen;
};
#define DT_DYNREFS 4

struct dt_mstate {
	dt_u64 r[DIF_DIR_NREGS];
	dt_u64 cmp_a, cmp_b; /* operands of the last comparison */
	const dt_u32 *text;
	const dt_u64 *ints;
	dt_u64 strs; /* D address of the string table */
	dt_u32 pc;   /* index of the next instruction */
	dt_u32 fault;
	dt_u64 fault_value;
	dt_u32 n_tuple;
	dt_u32 done; /* 1 after ret was executed */
	dt_u64 result;
	struct dt_tuple tuple[DIF_DTR_NREGS];

	struct dt_host *host;
	const struct dt_host_ops *ops;
	dt_u8 *base; /* start of the arena, the same address as `arena` */
	const struct dt_arena *arena;
	struct dt_session *session;
	/* the activity, in the shared or in the private part of the arena */
	dt_u32 *activity;
	struct dt_shard *shard;
	dt_off shard_at;
	dt_u32 shard_no;
	dt_u32 strsize;

	dt_u64 scratch_used;
	/*
	 * number of this firing in the shard; stored with each clause-local
	 * variable that the firing sets, so that later firings find the
	 * variable unset
	 */
	dt_u64 generation;

	/*
	 * how often this firing has loaded the address of a dynamic variable;
	 * refs[] describes the last DT_DYNREFS of these addresses
	 */
	dt_u32 n_refs;
	struct dt_dynref refs[DT_DYNREFS];

	/*
	 * position and length of the part of the string that strtok() has not
	 * searched yet
	 */
	dt_u32 strtok_pos, strtok_len;

	const struct dt_probe *probe;
	const struct dt_clause *clause;
	dt_u32 probe_id;
	dt_u32 epid;
	const dt_u64 *args;
	dt_u32 n_args;
	dt_u32 action; /* number of the action, from 1; 0 for the predicate */
	dt_u32 in_error;   /* 1 while clauses of ERROR run, else 0 */
	/*
	 * 1 if no other clause of this firing may run, because exit() was
	 * called or the firing took too long
	 */
	dt_u32 exited;
	dt_u32 lease_over; /* 1 if the lease has expired */
	/* 1 if timestamp, walltime or vtime is set */
	dt_u32 have_time, have_wall, have_vtime;
	dt_u64 timestamp, walltime, vtime;
	dt_u32 n_work;	    /* pieces of work in this firing (work.c) */
	dt_u64 measured_at; /* time of the last measurement; 0: none so far */

	/*
	 * the unpublished record of the clause; null if the clause makes no
	 * record
	 */
	dt_u8 *record;
	struct dt_buffer *record_in;
	dt_u64 record_end; /* end of the record, as an offset in the buffer */
	/* speculation to which the record belongs; 0: principal buffer */
	dt_u32 spec;
	dt_u32 skip;	   /* 1: do not run the remaining actions */
	dt_u32 discard;	   /* 1: do not publish the record */

	dt_u8 *key;	  /* key of the current aggregation */
	/* number of bytes of the key to compare; all later bytes are 0 */
	dt_u64 key_used;
	dt_u64 increment; /* number that a distribution adds to a bucket */
};

/*
 * Return the offsets in the arena of three parts of the shard: scratch memory,
 * clause-local variables, and the string of strtok(). Clauses of ERROR have
 * their own clause-local variables and string.
 */
DT_INLINE dt_off dt_scratch_at(const struct dt_mstate *m)
{
	return m->shard_at + m->arena->plan.scratch;
}

DT_INLINE dt_off dt_locals_at(const struct dt_mstate *m)
{
	const struct dt_shard_plan *plan = &m->arena->plan;

	return m->shard_at + plan->locals + m->in_error * plan->locals_bytes;
}

DT_INLINE dt_off dt_strtok_at(const struct dt_mstate *m)
{
	return m->shard_at + m->arena->plan.strtok +
	       m->in_error * DT_ALIGN((dt_u64)m->strsize, 8);
}

/*
 * A fault that ends the clause but does not fire ERROR, because the loss was
 * counted as a drop.
 */
#define DT_FAULT_DROPPED 0xffffffffu

DT_INLINE void dt_fault(struct dt_mstate *m, dt_u32 fault, dt_u64 value)
{
	if (!m->fault) {
		m->fault = fault;
		m->fault_value = value;
	}
}

/*
 * Computes a floating-point instruction. The fault below is not expected,
 * because the verifier accepts these instructions only if all hosts have flop.
 */
static inline dt_u64 dt_float(struct dt_mstate *m, dt_u32 op, dt_u64 a, dt_u64 b)
{
	if (m->ops->flop)
		return m->ops->flop(op, a, b);
	dt_fault(m, DTRACEFLT_ILLOP, 0);
	return 0;
}

DT_INLINE dt_u64 dt_thread_key(struct dt_host *host)
{
	if (!host->thread_key && host->ops->identify)
		host->ops->identify(host);
	return host->thread_key;
}

/* Returns the thread id that this thread stores in the lock of a bucket. */
DT_INLINE dt_u32 dt_owner(struct dt_host *host)
{
	dt_thread_key(host);
	return host->owner ? host->owner : 1;
}

/* --- memory.c: reading and writing memory for D programs --- */

/*
 * Returns whether the address is in the arena. D programs may read only some
 * parts of the arena (dt_dmem()).
 */
DT_INLINE int dt_is_dmem(const struct dt_mstate *m, dt_u64 addr)
{
	return addr - DT_VBASE < m->arena->total_bytes;
}

/*
 * Converts the D address of arena memory to a pointer. Sets *avail to the
 * number of bytes there that the D program may read. If the D program may not
 * read this memory, returns null without raising a fault.
 */
dt_u8 *dt_dmem(struct dt_mstate *m, dt_u64 addr, dt_u64 *avail);
/*
 * Converts the D address of scratch memory, or of a global or clause-local
 * variable, to a pointer. Returns null and raises BADADDR if the D program may
 * not write these bytes.
 */
dt_u8 *dt_dmem_store(struct dt_mstate *m, dt_u64 addr, dt_u64 bytes);
/*
 * Copies from any memory that the D program may read. Returns 0, or raises
 * BADADDR and returns -1.
 */
int dt_load_bytes(struct dt_mstate *m, dt_u64 addr, void *to, dt_u64 bytes);
/*
 * Copies from the target's memory. Returns 0, or raises BADADDR and returns -1.
 */
int dt_load_target(struct dt_mstate *m, dt_u64 addr, void *to, dt_u64 bytes);
dt_u64 dt_load_uint(struct dt_mstate *m, dt_u64 addr, dt_u32 bytes);
dt_u64 dt_uload_uint(struct dt_mstate *m, dt_u64 addr, dt_u32 bytes);
dt_u64 dt_rload_uint(struct dt_mstate *m, dt_u64 addr, dt_u32 bytes);

/*
 * Allocates scratch memory for this clause, aligned to 8 bytes. Returns its D
 * address, or raises NOSCRATCH and returns 0.
 */
dt_u64 dt_alloc(struct dt_mstate *m, dt_u64 bytes);
DT_INLINE dt_u8 *dt_scratch(const struct dt_mstate *m, dt_u64 addr)
{
	return m->base + (addr - DT_VBASE);
}

/*
 * Returns a pointer to a string in any memory. Sets *len to the length of the
 * string without the NUL, at most strsize. There may be no NUL after the
 * string. A string of the target is copied to scratch memory. Returns null and
 * raises a fault if the string cannot be read.
 */
const dt_u8 *dt_string(struct dt_mstate *m, dt_u64 addr, dt_u64 *len);
/*
 * Creates a string of at most strsize - 1 bytes in scratch memory. Returns its
 * D address, or raises NOSCRATCH and returns 0.
 */
dt_u64 dt_new_string(struct dt_mstate *m, const void *from, dt_u64 len);
/*
 * Copies a string to `to`, which has max bytes, and adds a NUL. Returns the
 * number of bytes including the NUL, or raises a fault and returns 0.
 */
dt_u64 dt_copy_string(struct dt_mstate *m, dt_u64 addr, dt_u8 *to, dt_u64 max);

/* --- work.c --- */
#define DT_WORK_EACH 15
void dt_work_measure(struct dt_mstate *m);
/*
 * Counts a piece of work: a clause, an action, or an instruction that may take
 * a long time. Every 16th piece compares the time of the firing with the host's
 * budget. If the budget is used up, the clause ends and no other clause runs.
 */
DT_INLINE void dt_work(struct dt_mstate *m)
{
	if (DT_UNLIKELY(!(++m->n_work & DT_WORK_EACH)))
		dt_work_measure(m);
}

/* --- exec.c --- */
dt_u64 dt_exec(struct dt_mstate *m, dt_off difo);
/*
 * Returns the value of a DIFO. Uses the interpreter only if s->kind is
 * DT_SHORT_NONE.
 */
dt_u64 dt_value(struct dt_mstate *m, const struct dt_short *s, dt_off difo);

/* --- vars.c, dynvar.c --- */
dt_u64 dt_builtin(struct dt_mstate *m, dt_u32 id);
dt_u64 dt_builtin_array(struct dt_mstate *m, dt_u32 id, dt_u64 index);
dt_u64 dt_now(struct dt_mstate *m);
dt_u64 dt_pid(struct dt_mstate *m);
dt_u64 dt_static_get(struct dt_mstate *m, dt_u32 scope, dt_u32 id);
void dt_static_set(struct dt_mstate *m, dt_u32 scope, dt_u32 id, dt_u64 v);
/* --- slots.c --- */
#define DT_MIN_SLOTS 32
/* Checks the next 32 slots and frees those whose threads have exited. */
void dt_slots_clean(dt_u8 *base, const struct dt_arena *arena,
		    int (*alive)(dt_u32 owner));

/* --- store.c: stores that may reach dynamic variables --- */
/*
 * Copies from any memory that the D program may read to memory that it may
 * write, including dynamic variables.
 */
void dt_dmem_copy(struct dt_mstate *m, dt_u64 to, dt_u64 from, dt_u64 bytes);
void dt_store_uint(struct dt_mstate *m, dt_u64 addr, dt_u64 v, dt_u32 bytes);

/* --- dynvar.c --- */
/*
 * Computes arena->dyn from the offset and size of the space for dynamic
 * variables.
 */
void dt_dynvar_layout(struct dt_arena *arena);
void dt_dynvar_init(dt_u8 *base, const struct dt_arena *arena);
/*
 * Stores to the value of a dynamic variable at an offset in the arena. Has no
 * effect if the variable was freed after this firing loaded its address. Raises
 * BADADDR if the bytes are not in the value of a dynamic variable.
 */
void dt_dynvar_put(struct dt_mstate *m, dt_u64 off, const void *from,
		   dt_u64 bytes);
/*
 * Get or set a dynamic variable. With DT_DYN_ELEMENT or use_tuple, the variable
 * is an array element, and its index is on the tuple stack. Otherwise the
 * variable is a thread-local scalar. With DT_DYN_MAKE, a missing variable is
 * created with the value zero. If the bucket stays locked or no memory is
 * available, a drop is counted. In this case, dt_dynvar_get() also ends the
 * clause.
 */
#define DT_DYN_ELEMENT 1
#define DT_DYN_MAKE 2
dt_u64 dt_dynvar_get(struct dt_mstate *m, dt_u32 scope, dt_u32 id, int how);
void dt_dynvar_set(struct dt_mstate *m, dt_u32 scope, dt_u32 id, dt_u64 v,
		   int use_tuple);
/*
 * Get, create or set a thread-local scalar. An integer is stored in a slot if a
 * slot is free (slots.c).
 */
dt_u64 dt_self_get(struct dt_mstate *m, dt_u32 id);
dt_u64 dt_self_make(struct dt_mstate *m, dt_u32 id);
void dt_self_set(struct dt_mstate *m, dt_u32 id, dt_u64 v);
/* Get or set a thread-local integer for which dt_has_slot() returns true. */
dt_u64 dt_slot_get(struct dt_mstate *m, dt_u32 id);
void dt_slot_put(struct dt_mstate *m, dt_u32 id, dt_u64 v);
int dt_has_slot(const dt_u8 *base, const struct dt_arena *arena, dt_u32 id);
void dt_dynvar_clean(dt_u8 *base, const struct dt_arena *arena,
		     int (*alive)(dt_u32 owner));

DT_INLINE const struct dt_var *dt_find_var(const dt_u8 *base,
					   const struct dt_arena *arena,
					   dt_u32 scope, dt_u32 id)
{
	const dt_u32 *index = dt_at(base, arena->var_index);
	dt_u32 n = index[scope << 16 | (id & 0xffff)];

	if (!n)
		return DT_NULL;
	return (const struct dt_var *)dt_at(base, arena->vars.at) + n - 1;
}

DT_INLINE dt_u64 dt_type_bytes(const struct dt_arena *arena,
			       const struct dif_type *type)
{
	if (type->kind == DIF_TYPE_STRING)
		return arena->options[DTRACEOPT_strsize];
	if (type->flags & DIF_TF_BYREF)
		return type->size;
	return 8;
}

DT_INLINE int dt_type_byref(const struct dif_type *type)
{
	return type->kind == DIF_TYPE_STRING || (type->flags & DIF_TF_BYREF);
}

/* --- subr*.c --- */
void dt_subr(struct dt_mstate *m, dt_u32 subr, dt_u32 rd);
DT_INLINE dt_u64 dt_arg(const struct dt_mstate *m, dt_u32 n)
{
	return n < m->n_tuple ? m->tuple[n].value : 0;
}

/* --- action.c, agg.c, spec.c --- */
void dt_action_run(struct dt_mstate *m, const struct dt_action *a);
void dt_aggregate(struct dt_mstate *m, const struct dt_action *a, dt_u64 value);
/*
 * Increments a count() without a key, which must be the first action of the
 * ECB. Finds the entry through the shard's agg_hints. Returns 0 if agg_hints
 * does not contain the entry, so that the caller must use dt_aggregate().
 */
int dt_agg_count_hinted(struct dt_shard *s, const struct dt_shard_plan *plan,
			const struct dt_action *a, dt_u32 epid);
void dt_agg_reset(struct dt_shard *s, const struct dt_shard_plan *plan,
		  dt_u32 which);
dt_u64 dt_speculation(struct dt_mstate *m);
void dt_speculate(struct dt_mstate *m, dt_u64 id);
void dt_commit(struct dt_mstate *m, dt_u64 id);
void dt_discard(struct dt_mstate *m, dt_u64 id);
int dt_spec_active(struct dt_mstate *m, dt_u32 id);
int dt_spec_clean(dt_u8 *base, const struct dt_arena *arena, dt_u32 owner,
		   dt_u64 now, int (*alive)(dt_u32 owner));

/* --- buffer.c --- */

/*
 * Reserves space for a record in the active principal buffer. If there is no
 * space, counts a drop and returns null. With bufpolicy=fill, probes other than
 * END mark the session as filled and count no drop.
 */
dt_u8 *dt_reserve(struct dt_mstate *m, dt_u32 bytes);
/*
 * Reserves space in a buffer that is not a ring. If there is no space, returns
 * null and counts a drop of the kind `drop`. If `drop` is DTRACEDROP_N, counts
 * no drop.
 */
dt_u8 *dt_reserve_in(struct dt_mstate *m, struct dt_buffer *b, dt_off data,
		     dt_u64 size, dt_u32 bytes, dt_u32 drop);
void dt_publish(struct dt_mstate *m);
/* Returns the size of the record at rec, or 0 if it is not a valid record. */
dt_u32 dt_record_bytes(const dt_u8 *base, const struct dt_arena *arena,
		       const dt_u8 *rec);

/* --- shard.c --- */
DT_INLINE struct dt_shard *dt_shard_at(dt_u8 *base,
				       const struct dt_arena *arena, dt_u32 no)
{
	return dt_at(base, arena->shards + no * arena->shard_bytes);
}

/*
 * Takes any free shard, beginning with host->shard. Returns its number, or -1
 * if no shard is free.
 */
int dt_shard_take_any(struct dt_host *host);
/*
 * Returns the number of the first shard that this host may take, and sets *n to
 * the number of such shards.
 */
DT_INLINE dt_u32 dt_shards_of(const struct dt_host *host,
			      const struct dt_arena *arena, dt_u32 *n)
{
	if (host->own_shards && arena->n_shared < arena->n_shards) {
		*n = arena->n_shards - arena->n_shared;
		return arena->n_shared;
	}
	*n = arena->n_shared;
	return 0;
}

/*
 * Takes a free shard for this host by setting the shard's lock. Returns the
 * number of the shard, or -1 if no shard is free.
 */
DT_INLINE int dt_shard_take(struct dt_host *host)
{
	const struct dt_arena *arena = host->arena;
	dt_u32 no = host->shard, owner = host->owner ? host->owner : 1;
	dt_u32 *lock, n;

	if (DT_LIKELY(no - dt_shards_of(host, arena, &n) < n)) {
		lock = &dt_shard_at(host->arena, arena, no)->lock;
		if (!dt_once32(lock) && dt_cas32(lock, 0, owner))
			return (int)no;
	}
	return dt_shard_take_any(host);
}
/*
 * Locks a shard for the consumer. Returns 0, or -1 if the shard stayed locked.
 * Each failed test of the lock reduces *spins by one. If the holder has died,
 * takes the lock and sets *stolen to 1.
 */
int dt_shard_wait(dt_u8 *base, const struct dt_arena *arena, dt_u32 no,
		  dt_u32 owner, int (*alive)(dt_u32 owner), dt_u32 *spins,
		  int *stolen);
/*
 * Returns a limit in bytes. A shard is parked if its aggregation buffer
 * contains at least this number of bytes. The last quarter of the buffer is
 * left for keys that the current firing still adds.
 */
DT_INLINE dt_u64 dt_park_at(const struct dt_shard_plan *plan)
{
	return plan->agg_bytes - plan->agg_bytes / 4;
}


DT_INLINE void dt_shard_leave(const struct dt_arena *arena, dt_u32 no,
			      struct dt_shard *s)
{
	dt_release32(&s->lock, dt_shard_idle(arena, no, s));
}

/* --- hashing, for aggregations and dynamic variables --- */
static inline dt_u32 dt_hash(const dt_u8 *p, dt_u64 bytes, dt_u64 seed)
{
	dt_u64 h = seed * 0x9e3779b97f4a7c15ull + bytes;

	for (; bytes >= 8; bytes -= 8, p += 8) {
		h ^= dt_get64(p);
		h *= 0xff51afd7ed558ccdull;
		h ^= h >> 32;
	}
	for (; bytes; bytes--)
		h = (h ^ *p++) * 0x100000001b3ull;
	h ^= h >> 29;
	h *= 0xc4ceb9fe1a85ec53ull;
	return (dt_u32)(h >> 32);
}

/*
 * --- subr*.c: one dt_subr_*() for each ANY and WRITE row of dif/subrs.h ---
 *
 * The arguments are on the tuple stack. dt_arg() returns 0 for a missing
 * argument. The result is not used after a fault.
 */
#define DT_SUBR_DECLARE_ANY(name) dt_u64 dt_subr_##name(struct dt_mstate *m);
#define DT_SUBR_DECLARE_WRITE(name) DT_SUBR_DECLARE_ANY(name)
#define DT_SUBR_DECLARE_KERNEL(name)
#define DT_SUBR_DECLARE_NONE(name)
#define X(name, number, prototype, where) DT_SUBR_DECLARE_##where(name)
DIF_SUBRS(X)
#undef X

#endif
