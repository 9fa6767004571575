/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The interface of the engine. The functions are called in this order. Each
 * line ends with the host that may call the function:
 *
 *   dt_arena_layout()  returns the sizes that the options require (any host)
 *   dt_arena_init()    makes an arena in zeroed memory            (owner)
 *   dt_load()          verifies a DOF image and adds its clauses  (owner)
 *   dt_probe_add()     adds a probe and its names                 (owner)
 *   dt_ecb_add()       enables a clause at a probe                (owner)
 *   dt_fire()          runs every ECB of a probe                  (any host)
 *   dt_drain_*()       copies records or aggregations             (consumer)
 *
 * The owner is the process that made the arena, or the kernel module.
 */
#ifndef DIF_ENGINE_H
#define DIF_ENGINE_H

#include "dif/arena.h"
#include "dif/host.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The sizes and options of a new arena. A size of 0 selects a default. Pages
 * that are never written use no memory.
 */
struct dt_arena_config {
	dt_u64 options[DTRACEOPT_N]; /* DT_OPT_UNSET selects the default */
	/* number of shared shards; if n_private is 0, all shards are shared */
	dt_u32 n_shards;
	/*
	 * number of private shards, which only the consumer and the agent map
	 */
	dt_u32 n_private;
	/*
	 * maximum number of parked shards (shard.c), at most half of the shared
	 * shards. At least n_cpus + 2 shared shards are never parked.
	 */
	dt_u32 n_parkable;
	/*
	 * number of CPUs, each of which has its own set of counters; 0 means
	 * the number of shared shards
	 */
	dt_u32 n_cpus;
	dt_u32 max_probes, max_ecbs, max_clauses, max_vars;
	dt_u64 heap_bytes; /* space for DIF, its tables, and strings */
	dt_u64 globals_bytes;
	dt_u64 locals_bytes; /* clause-local variables of a shard */
	dt_u64 walltime;     /* current time, ns since 1970 */
	dt_u32 has_float;    /* 1: every host has the operation flop */
	/* 1: only the kernel fires probes, so the arena has no counters */
	dt_u32 has_kernel;
	/*
	 * 1: a host outside the kernel has the operation stack, so stack(),
	 * caller and stackdepth are allowed
	 */
	dt_u32 has_stack;
};

/* The reason why dt_load() refused a program, and the place of the error. */
struct dt_load_error {
	char text[192];
	/*
	 * a number that helps to find the error; depending on the text, this is,
	 * for example, a byte offset in the DOF, the number of a section, or
	 * the index of an instruction
	 */
	dt_u64 where;
	/*
	 * 1 + the number of the clause in the DOF, if its record is larger than
	 * the buffer; otherwise 0
	 */
	dt_u32 too_large;
};

/**
 * dt_arena_layout - returns the sizes of the program part and of the entire
 * arena; both are multiples of 64 KiB
 */
void dt_arena_layout(const struct dt_arena_config *config,
		     dt_u64 *program_bytes, dt_u64 *total_bytes);

/*
 * Returns where the private part begins, or total_bytes if it does not exist.
 */
dt_u64 dt_arena_private_at(const struct dt_arena_config *config);

/*
 * Creates the arena in mem, which must contain total_bytes zeros
 * (dt_arena_layout()).
 */
void dt_arena_init(void *mem, const struct dt_arena_config *config);

/*
 * Creates another arena in mem, where the program part of the arena `first` is
 * already mapped. The other parts of mem must contain only zeros. The new arena
 * gets the lease and the activity of `first`. Both must have a private part.
 * rand() returns different values in arenas with different numbers.
 */
void dt_arena_init_like(void *mem, const void *first, dt_u64 number);

/**
 * dt_load - verify a DOF image, and add its clauses and probe descriptions
 * @first_clause, @n_clauses: receive the range of the added clauses
 *
 * Returns 0 on success. On failure, fills in @error, adds nothing and returns
 * -1. The image is not trusted, and is not changed.
 */
int dt_load(void *arena, const void *dof, dt_u64 bytes, dt_u32 *first_clause,
	    dt_u32 *n_clauses, struct dt_load_error *error);

/*
 * Changes the provider name of a probe whose process has exited, so that
 * another process can use the probe. The clauses stay enabled at the probe.
 * `like` is 0 or the id of another probe. If that probe has the same provider
 * name, both probes share one string. Returns -1 if the heap is full or there
 * is no such probe.
 */
int dt_probe_rename(void *arena, dt_u32 probe, const char *provider,
		    dt_u32 like);
/*
 * Adds a probe. Returns its id (ids start at 1), or 0 if the table or the heap
 * is full.
 */
dt_u32 dt_probe_add(void *arena, const char *provider, const char *mod,
		    const char *func, const char *name);

/*
 * Enables a clause at a probe. Returns the EPID of the ECB, which may already
 * exist. Returns 0 if the table is full. The ECBs of a probe are in the order
 * of their clauses.
 */
dt_u32 dt_ecb_add(void *arena, dt_u32 probe, dt_u32 clause);

/**
 * dt_fire - run every ECB of a probe
 * @args: the probe's first n_args arguments (at most 10); the engine gets the
 * other arguments from the host
 *
 * Context: anywhere. Never waits: if no shard is free, counts a drop. The work
 * is limited, because verified DIF contains no loops.
 */
void dt_fire(struct dt_host *host, dt_u32 probe, const dt_u64 *args,
	     dt_u32 n_args);

/*
 * Runs the ECBs of a probe for a host that holds the lock of host->shard. The
 * lock is not released.
 * @from: the EPID of the first ECB to run, if the host itself has already run
 * the preceding ECBs; 0 if the function must run all ECBs
 */
void dt_fire_held(struct dt_host *host, dt_u32 probe, dt_u32 from,
		  const dt_u64 *args, dt_u32 n_args);

/*
 * Returns the value to store in a shard's lock to release it. The value is
 * DT_SHARD_PARKED if the shard can be parked and its aggregation buffer is
 * almost full, and otherwise 0.
 */
dt_u32 dt_shard_idle(const struct dt_arena *arena, dt_u32 no,
		     const struct dt_shard *shard);

/*
 * Advances the activity of the session if its current value is `from`. Returns
 * 1 if this call made the change. Only the arena's owner calls this function.
 * If there is a private part, only the activity in that part is trusted.
 */
int dt_activity_advance(void *arena, dt_u32 from, dt_u32 to);
/*
 * Returns whether exit() has ended tracing. Targets can forge the shared words
 * `exited` and `activity`. If the arena has a private part, the shared `exited`
 * counts only if a clause with exit() fires in targets. If no such clause
 * exists, the function restores the shared `activity` from the private part.
 */
int dt_has_exited(void *arena);

/* --- for the consumer, which waits for a shard for a limited time --- */

/*
 * The maximum number of tests of the lock of a busy shard. All these tests
 * together take a few milliseconds.
 */
#define DT_WAIT_SPINS 100000
/*
 * dt_drain_principal - exchange a shard's principal buffers and copy the
 * records
 * @to: memory of at least as many bytes as the option bufsize
 * @alive: returns whether a thread with this id exists; if the holder of the
 * shard's lock has died, the consumer takes over the lock
 * @spins: maximum number of tests of the shard's lock, at most DT_WAIT_SPINS;
 * receives the number of tests that remain. Null means DT_WAIT_SPINS.
 *
 * Returns the number of bytes copied, or 0 if there are no records. The copy
 * contains complete records, ordered by time. Returns -1 if the shard stayed
 * locked.
 */
dt_s64 dt_drain_principal(void *arena, dt_u32 shard, dt_u32 owner, void *to,
			  dt_u64 max, int (*alive)(dt_u32 owner),
			  dt_u32 *spins);
/*
 * Drains a shard's aggregations as dt_drain_principal() drains records. The
 * copy is a sequence of entries (struct dt_aggent).
 */
dt_s64 dt_drain_agg(void *arena, dt_u32 shard, dt_u32 owner, void *to,
		    dt_u64 max, int (*alive)(dt_u32 owner), dt_u32 *spins);
/*
 * Drains the counters of the set with this number, 0 to arena->counters.n_cpus.
 * Writes an entry (struct dt_aggent) for each value that has changed since the
 * previous drain. Takes no lock. The caller sets *from to 0 before the first
 * call, and repeats the call until *from is DT_COUNTERS_DONE. Returns the
 * number of bytes written to `to`.
 */
#define DT_COUNTERS_DONE (~0ull)
dt_s64 dt_drain_counters(void *arena, dt_u32 set, dt_u64 *from, void *to,
			 dt_u64 max);
enum dt_buffer_kind {
	DT_BUFFER_PRINCIPAL,
	DT_BUFFER_AGGREGATION,
};
/*
 * Returns the number of bytes used in a shard's active buffer of this kind.
 * Takes no lock, so the number is a hint.
 */
dt_u64 dt_fill(const void *arena, dt_u32 shard, enum dt_buffer_kind kind);
/*
 * Moves records of committed speculations to the principal buffers, and removes
 * those of discarded speculations. If `alive` is not null, also releases locks
 * and slots of dead threads. The consumer calls this function at the rate of
 * the option cleanrate. Returns 1 if it has moved its maximum number of bytes,
 * so that another call is needed.
 */
int dt_clean(void *arena, dt_u32 owner, dt_u64 now, int (*alive)(dt_u32 owner));

/* --- disassembly, for dtrace -S and tests --- */

/*
 * Writes the text of an instruction: its mnemonic and operands. Returns the
 * length of the text.
 */
int dt_disasm(dt_u32 insn, char *to, dt_size max);

#ifdef __cplusplus
}
#endif

#endif
