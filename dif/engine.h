/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The engine's interface: make an arena, load programs, add probes, fire,
 * drain.
 *
 * A session in a process that has all roles:
 *
 *   dt_arena_layout()  returns the sizes that these options require
 *   dt_arena_init()    lays the arena out in zeroed memory, once  (owner)
 *   dt_load()          verifies a DOF image and adds its clauses  (owner)
 *   dt_probe_add()     adds a probe and its names                 (owner)
 *   dt_ecb_add()       enables a clause at a probe                (owner)
 *   dt_fire()          runs every ECB of a probe                  (any host)
 *   dt_drain_*()       copies records and aggregations out        (consumer)
 */
#ifndef DIF_ENGINE_H
#define DIF_ENGINE_H

#include "dif/arena.h"
#include "dif/host.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Sizes that are chosen when the arena is created. Memory that is never touched
 * costs nothing.
 */
struct dt_arena_config {
	dt_u64 options[DTRACEOPT_N]; /* DT_OPT_UNSET: the default */
	/* number of shards that targets map; of all shards if n_private is 0 */
	dt_u32 n_shards;
	/*
	 * number of private shards, which only the consumer and the agent map
	 */
	dt_u32 n_private;
	dt_u32 n_parkable; /* see shard.c; at most half of n_shards is used */
	dt_u32 n_cpus; /* number of CPUs with counters; 0: n_shards */
	dt_u32 max_probes, max_ecbs, max_clauses, max_vars;
	dt_u64 heap_bytes; /* program part: text, tables, strings */
	dt_u64 globals_bytes;
	dt_u64 locals_bytes; /* clause-local storage of a shard */
	dt_u64 walltime;
	dt_u32 has_float; /* every host has flop */
	/*
	 * Only the kernel's host fires probes. In this case there are no
	 * counters, because no native code adds to them.
	 */
	dt_u32 has_kernel;
};

/* Why a program was refused: one sentence, and the place. */
struct dt_load_error {
	char text[192];
	dt_u64 where; /* byte offset in the DOF, or instruction in a DIFO */
	/*
	 * 1 + the number of the DOF's clause whose record exceeds the buffer;
	 * 0: the reason is a different one
	 */
	dt_u32 too_large;
};

/**
 * dt_arena_layout - returns the sizes of the program part and of the complete
 * arena; both are multiples of 64 KiB
 */
void dt_arena_layout(const struct dt_arena_config *config,
		     dt_u64 *program_bytes, dt_u64 *total_bytes);

/* Returns where the private part begins, or total_bytes if there is none. */
dt_u64 dt_arena_private_at(const struct dt_arena_config *config);

/*
 * Lays out the arena in mem, which must be zeroed and have the total_bytes that
 * dt_arena_layout() returned.
 */
void dt_arena_init(void *mem, const struct dt_arena_config *config);

/**
 * dt_load - verify a DOF image, and add its clauses and their enablings
 * @first_clause, @n_clauses: receive the range of the added clauses
 *
 * Returns 0, or -1 with @error filled in and nothing added. The image is
 * untrusted and only read.
 */
int dt_load(void *arena, const void *dof, dt_u64 bytes, dt_u32 *first_clause,
	    dt_u32 *n_clauses, struct dt_load_error *error);

/*
 * Changes the provider name of a probe whose process has exited, so that
 * another process can use the probe. Its clauses stay enabled. like: another
 * probe, or 0. If that probe already has the new provider name, its string is
 * shared. Returns 0, or -1 if the heap is full.
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
 * Enables a clause at a probe. Returns the EPID, or 0 if the table is full.
 * Keeps a probe's ECBs in clause order. Adding the same pair twice returns the
 * same EPID.
 */
dt_u32 dt_ecb_add(void *arena, dt_u32 probe, dt_u32 clause);

/**
 * dt_fire - run every ECB of a probe
 * @args: the probe's first n_args arguments (at most 10); the engine gets the
 * other arguments from the host
 *
 * Context: anywhere. Never waits: takes a free shard or counts a drop. The work
 * is limited by the verified length of the enabled DIF.
 */
void dt_fire(struct dt_host *host, dt_u32 probe, const dt_u64 *args,
	     dt_u32 n_args);

/*
 * Runs the ECBs for a host that already holds host->shard and keeps it.
 * @from: the EPID to start with, if the host has run the previous ones; 0: the
 * first
 */
void dt_fire_held(struct dt_host *host, dt_u32 probe, dt_u32 from,
		  const dt_u64 *args, dt_u32 n_args);

/*
 * Unlocks a shard, or parks it if its aggregation buffer is almost full
 * (shard.c). The caller holds it.
 */
void dt_shard_leave(const struct dt_arena *arena, dt_u32 no,
		    struct dt_shard *shard);

/*
 * Advances the activity, which never changes back. Returns 1 if this call made
 * the change. Only the arena's owner calls it. If there is a private part, only
 * the activity in that part is trusted.
 */
int dt_activity_advance(void *arena, dt_u32 from, dt_u32 to);
/*
 * Returns whether exit() has ended tracing. The shared words are trusted only
 * if a clause with exit() is enabled at a probe that fires in targets.
 * Otherwise, if a target overwrote the activity, this restores it.
 */
int dt_has_exited(void *arena);

/* --- the consumer's side; waits for a shard for a limited time --- */

/*
 * The number of times that the consumer tests a shard's lock before it gives
 * up. That many tests take a few milliseconds.
 */
#define DT_WAIT_SPINS 100000
/*
 * dt_drain_principal - swap a shard's principal buffers and copy the records
 * @to: memory of at least as many bytes as the option bufsize
 * @spins: maximum number of tests of the shard's lock, at most DT_WAIT_SPINS;
 * receives the number of tests that remain. Null: DT_WAIT_SPINS
 *
 * Returns the number of bytes copied (complete records, in time order), 0 if
 * there are none, or -1 if the shard stayed locked; then try again later. A
 * shard whose owner thread died is freed (@alive returns whether a thread id
 * exists).
 */
dt_s64 dt_drain_principal(void *arena, dt_u32 shard, dt_u32 owner, void *to,
			  dt_u64 max, int (*alive)(dt_u32 owner),
			  dt_u32 *spins);
/*
 * Drains a shard's aggregations, like dt_drain_principal(). The copy is a
 * sequence of struct dt_aggent.
 */
dt_s64 dt_drain_agg(void *arena, dt_u32 shard, dt_u32 owner, void *to,
		    dt_u64 max, int (*alive)(dt_u32 owner), dt_u32 *spins);
/*
 * Drains one set of counters, 0 to arena->counters.n_cpus: copies what was
 * added to them since the last drain. Takes no lock. Set *from to 0 for the
 * first call, and repeat the call until *from is DT_COUNTERS_DONE. Each counter
 * is then read exactly once, however fast targets add to it.
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
 * Moves the parts of committed speculations to the principal buffers, empties
 * discarded ones, and cleans dynamic variables. With `alive`, also releases
 * what dead owners hold. The consumer calls it at the cleanrate. Returns 1 if
 * the call ended at the limit of bytes that one call moves. The next call
 * continues.
 */
int dt_clean(void *arena, dt_u32 owner, dt_u64 now, int (*alive)(dt_u32 owner));

/* --- disassembly, for dtrace -S and tests --- */

/* Writes one line of text for an instruction, without its offset and code. */
int dt_disasm(dt_u32 insn, char *to, dt_size max);

#ifdef __cplusplus
}
#endif

#endif
