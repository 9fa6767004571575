/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The arena: all memory of one session, in one contiguous region.
 *
 *   offset 0              program_bytes                 private_at        total_bytes
 *   | program (read-only) | session | globals | ...      | shards | own | shards |
 *                         | <- shared: targets write here -> | <- private -> |
 *
 * The program part is written only by the loader (dif/load.h); hosts that need
 * not load map it read-only. It has fixed-capacity tables that grow in place,
 * so that probes which appear later (dlopen) can be added while others fire: an
 * entry is complete before its count is published with release order.
 *
 * Every process maps the arena where it likes, so all references are offsets
 * from its start, never pointers. To D programs, arena memory has the same
 * addresses in every host: DT_VBASE + offset. No machine address looks like
 * that (it is not canonical on x86-64, with four or five page table levels), so
 * the engine tells its own memory from the target's by the address alone.
 *
 * Only the consumer and the agent map the private part. Hosts that run in
 * these processes (struct dt_host, own_shards) use the last shards, which are
 * in that part. BEGIN, END, tick and profile fire only there, so no target can
 * forge their records. An arena that no target maps (the kernel's) has no
 * private part, and all its shards serve every host.
 *
 * Counters are in front of the shards: what native code (no shard, no lock) adds
 * up for aggregations without a key, and for the first keys of others. They
 * only grow; the consumer remembers in the program part what it has seen of
 * them (dif/counters.c).
 *
 * The shared part is writable by targets: the consumer copies what it reads
 * there, checks the bound, then uses the copy. All widths are fixed.
 */
#ifndef DIF_ARENA_H
#define DIF_ARENA_H

#include "dif/dof.h"
#include "dif/faults.h"
#include "dif/options.h"
#include "dif/types.h"

#define DT_ARENA_MAGIC 0x414e455241545244ull /* "DRTARENA" */
#define DT_ARENA_VERSION 9
#define DT_VBASE 0x4454000000000000ull
#define DT_MAX_SHARDS 256

typedef dt_u64 dt_off; /* from the arena's start; 0 is none */

/* One per DIF object. */
struct dt_difo {
	dt_off text; /* dt_u32[n_text] */
	dt_off ints; /* dt_u64[n_ints] */
	dt_off strs; /* NUL-terminated strings, strs_bytes in all */
	dt_off vars; /* struct dif_varinfo[n_vars] */
	dt_u32 n_text, n_ints, strs_bytes, n_vars;
	struct dif_type rtype;
	dt_u32 destructive; /* it calls copyout() or copyoutstr() */
	dt_u32 pad;
};

/* A DIF object whose value is available without its text: dif/short.c. */
enum dt_short_kind {
	DT_SHORT_NONE,
	DT_SHORT_VAR, /* a builtin */
	DT_SHORT_CONST,
	DT_SHORT_COMPARE, /* is a builtin, by a branch's condition, a number? */
	DT_SHORT_SELF,	  /* a thread-local variable */
	DT_SHORT_SET_VAR, /* stores a builtin in it */
	DT_SHORT_SET_CONST,
	DT_SHORT_SINCE, /* a builtin less a thread-local variable */
};

struct dt_short {
	dt_u32 kind;
	dt_u32 var;
	dt_u32 op; /* DIF_OP_B* */
	dt_u32 self;
	dt_u64 value;
};

/*
 * One action of a clause. Actions that take several values (printf) are a run
 * of entries of that kind: ntuple of the first says how many values follow,
 * itself included. Keys of an aggregation are entries before it.
 */
struct dt_action {
	dt_u32 kind;
	dt_u32 ntuple;
	dt_off difo; /* 0: none */
	dt_u64 arg;
	dt_u64 uarg;	      /* aggregation: variable id; else source line */
	dt_off format;	      /* string or 0 */
	dt_u32 rec_offset;    /* from the record's header, or in the key */
	dt_u32 rec_size;      /* 0: records nothing */
	dt_u32 in_key;	      /* 1: part of the key of the next aggregation */
	dt_u32 key_bytes;     /* aggregation: its whole key, 8-aligned */
	dt_u32 value_bytes;   /* aggregation: what it keeps per key */
	dt_u32 counters;      /* aggregation: where in a set, or 0 */
	dt_u32 counted_keys;  /* entries of its table of keys, 0: it has none */
	dt_u32 counted_words; /* of a key there: dif/counters.h */
	struct dt_short brief; /* of difo */
};

struct dt_clause {
	dt_off predicate; /* struct dt_difo or 0 */
	dt_off actions;	  /* struct dt_action[n_actions] */
	dt_u32 n_actions;
	dt_u32 rec_bytes; /* of the whole record with its header, 8-aligned */
	dt_u32 flags;	  /* DT_CLAUSE_* */
	dt_u32 line;	  /* in the source */
	dt_u64 uarg;	  /* the compiler's number for it */
	struct dt_short brief; /* of predicate */
	dt_u32 epid;	       /* an ECB of it, 0: none yet */
	dt_u32 pad;
};
#define DT_CLAUSE_RECORDS 0x1 /* has an action that records, or no action */
#define DT_CLAUSE_COMMITS 0x2
#define DT_CLAUSE_SPECULATES 0x4
#define DT_CLAUSE_DESTRUCTIVE 0x8
#define DT_CLAUSE_EXITS 0x10
#define DT_CLAUSE_COUNTS 0x20 /* is count() without key or condition */
#define DT_CLAUSE_IN_TARGETS 0x40 /* has a probe that fires in targets */

/* What a clause requested; matched against probes as they appear. */
struct dt_enabling {
	dt_off provider, mod, func, name; /* strings, "" matches anything */
	dt_u32 id;			  /* probe id or 0 */
	dt_u32 clause;			  /* index */
};

struct dt_probe {
	dt_off provider, mod, func, name; /* strings */
	dt_u32 first_ecb;		  /* EPID, 0: none */
	dt_u32 flags;			  /* DT_PROBE_* */
};
#define DT_PROBE_DTRACE 0x1   /* of provider dtrace: fires while BEGIN runs */
#define DT_PROBE_MANY 0x2     /* has, or is about to have, several ECBs */
#define DT_PROBE_OWN 0x4      /* fires in the consumer or the agent alone */
#define DT_PROBE_ECBS_SHIFT 8 /* from there on: how many */

/* Ids by convention: the consumer adds these three first. */
#define DT_PROBE_BEGIN 1
#define DT_PROBE_END 2
#define DT_PROBE_ERROR 3

/* One enabled probe for one clause. Its number, from 1, is the EPID. */
struct dt_ecb {
	dt_u32 probe; /* id, from 1 */
	dt_u32 clause;
	dt_u32 next; /* EPID of the next in program order, 0: last */
	dt_u32 pad;
};

/* A variable of the D program. */
struct dt_var {
	dt_u32 id;
	dt_u8 kind, scope;
	dt_u16 flags;
	struct dif_type type;
	dt_off
	    storage; /* global: in the arena; local: within a shard's locals */
	dt_off name;
};

/* A fixed-capacity table of the program part. */
struct dt_table {
	dt_off at;
	dt_u32 n;   /* published entries */
	dt_u32 max; /* capacity */
};

/*
 * Where the parts of a shard are, from its start, and how large. Shards are
 * alike and their own struct dt_buffer can be scribbled over, so the engine
 * takes positions and sizes from here alone.
 */
struct dt_shard_plan {
	dt_u64 specs;  /* struct dt_buffer[n_specs] */
	dt_u64 locals; /* two: the second is for ERROR's clauses */
	dt_u64 strtok; /* two of strsize bytes */
	dt_u64 scratch;
	dt_u64 principal[2];
	dt_u64 agg[2];
	dt_u64 spec_data; /* n_specs of spec_bytes */
	dt_u64 locals_bytes, scratch_bytes, principal_bytes, agg_bytes;
	dt_u64 spec_bytes;
	dt_u32 agg_buckets; /* a power of two */
	dt_u32 n_specs;
};

/* Where the parts of the space of dynamic variables are, from the arena's
 * start. */
struct dt_dyn_plan {
	dt_off buckets; /* struct dt_bucket[n_buckets] */
	dt_off slots;	/* struct dt_slot[n_slots] */
	dt_off pool;
	dt_u64 pool_bytes;
	dt_u32 n_buckets, n_slots; /* powers of two */
};

/*
 * Sets of counters, from the arena's start: the first is added to by locked
 * instructions, each of the others only on one CPU, 0 and so on.
 */
struct dt_counter_plan {
	dt_off sets; /* data part */
	dt_off seen; /* program part: what the consumer had of each set */
	dt_u32 n_cpus;
	dt_u32 used;   /* bytes of a set that actions have */
	dt_u32 n_sets; /* n_cpus + 1, or none */
	dt_u32 pad;
};
#define DT_COUNTERS_SHIFT 20
#define DT_COUNTERS_BYTES (1u << DT_COUNTERS_SHIFT) /* of a set */

struct dt_arena {
	dt_u64 magic;
	dt_u32 version;
	dt_u32 n_shards;
	dt_u64 program_bytes;
	dt_u64 total_bytes;
	dt_u64 heap_used; /* program part: bytes handed out */
	struct dt_table difos, clauses, enablings, probes, ecbs, vars;
	dt_u64 options[DTRACEOPT_N];
	dt_off session;	      /* struct dt_session */
	dt_off globals;	      /* static storage of global variables */
	dt_u64 globals_bytes; /* capacity */
	dt_u64 globals_used;
	dt_off dynvars;	       /* struct dt_dynspace, dif/dynvar.c */
	dt_off shards;	       /* struct dt_shard[n_shards]; the shared ones first */
	dt_u64 shard_bytes;    /* from one shard to the next */
	dt_u64 locals_used;    /* bytes of a shard's clause-local storage */
	dt_u64 start_walltime; /* ns since 1970 at creation */
	dt_u64 has_float;      /* hosts have flop: f* instructions may be used */
	dt_u64 has_kernel;     /* the host is the kernel: what needs one may be used */
	dt_off var_index;      /* dt_u32[3][65536]: scope and id to vars, +1 */
	dt_u64 dynvars_bytes;
	struct dt_dyn_plan dyn;
	struct dt_shard_plan plan;
	struct dt_counter_plan counters;
	dt_u32 n_shared;   /* mapped by targets; n_shards: no private part */
	dt_u32 pad;
	dt_off private_at; /* total_bytes: no private part */
	dt_off own;	   /* struct dt_own_session, 0: none */
};

enum dt_activity {
	DT_ACTIVITY_INACTIVE, /* not yet gone */
	DT_ACTIVITY_WARMUP,   /* BEGIN runs, nothing else fires */
	DT_ACTIVITY_ACTIVE,
	DT_ACTIVITY_DRAINING, /* exit() was called: nothing but dtrace::: fires
			       */
	DT_ACTIVITY_COOLDOWN, /* END runs */
	DT_ACTIVITY_STOPPED,
	DT_ACTIVITY_KILLED,
};

enum dt_spec_state {
	DT_SPEC_INACTIVE,
	DT_SPEC_ACTIVE,
	DT_SPEC_COMMITTING, /* other shards' parts still to be moved */
	DT_SPEC_DISCARDING, /* other shards' parts still to be emptied */
};

#define DT_MAX_SPECS 1024

/*
 * A clock for hosts that cannot ask for one cheaply: a line that follows
 * CLOCK_MONOTONIC, renewed by the consumer. At a counter value t it reads
 * mono_ns + ((t - tsc) * mult >> shift), and wall_ns plus the same. A new line
 * begins where the last one is at that moment, so that no reader sees it go
 * back. seq is odd while it is rewritten, 0 when it was never set: then the
 * counter is not the clock of this system.
 */
struct dt_clock {
	dt_u32 seq;
	dt_u32 shift; /* < 64 */
	dt_u64 tsc;
	dt_u64 mono_ns;
	dt_u64 wall_ns;
	dt_u64 mult;
};

/* Written by every host, by atomic operations only. */
struct dt_session {
	dt_u32 activity; /* enum dt_activity */
	dt_u32 exited;	 /* 1 once exit() was recorded */
	dt_u32 filled;	 /* 1 once a fill buffer is full */
	dt_u32 pad;
	dt_u64 lease_until; /* monotonic ns; a dead consumer stops renewing */
	struct dt_clock clock;	    /* with what is above: one cache line */
	dt_u64 drops[DTRACEDROP_N]; /* those that belong to no shard */
	/* enum dt_spec_state, and from bit 8 on who wrote to it: 0 no shard,
	 * else the one shard's number + 1, or DT_SPEC_MANY */
	dt_u32 spec_state[DT_MAX_SPECS];
};
DT_STATIC_ASSERT(__builtin_offsetof(struct dt_session, drops) == 64,
		 "what each firing reads is one cache line");

/*
 * Private copies of two words of struct dt_session. Hosts of the private part
 * read only these, because a target can write to the session's words and could
 * end the session that way.
 */
struct dt_own_session {
	dt_u32 activity; /* enum dt_activity */
	dt_u32 exited;	 /* 1 once exit() was recorded in a private shard */
};

#define DT_SPEC_STATE(word) ((word)&0xff)
#define DT_SPEC_WRITER(word) ((word) >> 8)
#define DT_SPEC_MANY 0xffffffu

/* A record of a principal or speculation buffer. */
struct dt_rechdr {
	dt_u32 epid; /* 0: padding to the end of the buffer */
	dt_u16 cpu;
	dt_u16 flags; /* DT_REC_* */
	dt_u64 timestamp;
};
DT_STATIC_ASSERT(sizeof(struct dt_rechdr) == 16, "record header is 16 bytes");
#define DT_REC_ERROR                                                           \
	0x1 /* payload is struct dt_rec_error, not the clause's                \
	     */

/* What an ERROR firing tells; epid in the header is the clause that faulted. */
struct dt_rec_error {
	dt_u32 action; /* index from 1, 0: predicate */
	dt_u32 offset; /* of the DIF instruction, in bytes */
	dt_u32 fault;  /* DTRACEFLT_* */
	dt_u32 pad;
	dt_u64 value; /* address or 0 */
};

/* One buffer: [at, at + size) and how much of it holds records. */
struct dt_buffer {
	dt_off at;
	dt_u64 size;
	dt_u64 used;
	dt_u64 wrapped; /* ring: offset where the oldest record starts */
};

/*
 * An aggregation buffer: hash buckets (dt_u32 offsets from at) at the start,
 * then entries one after the other, each a struct dt_aggent.
 */
struct dt_aggent {
	dt_u32 next; /* from the buffer's start, 0: last of its bucket */
	dt_u32 hash;
	dt_u32 bytes;	    /* of the entry, 8-aligned */
	dt_u32 epid;	    /* clause that made it: describes the key's parts */
	dt_u32 aggvar;	    /* variable id of the aggregation */
	dt_u32 action;	    /* index of the aggregating action in the clause */
	dt_u32 key_bytes;   /* 8-aligned; the key follows */
	dt_u32 value_bytes; /* the value follows the key */
};
DT_STATIC_ASSERT(sizeof(struct dt_aggent) == 32,
		 "aggregation entry is 32 bytes");

/*
 * Where keys were found last, by clause and key: from the buffer's start, 0:
 * nowhere. An entry is looked at before it is believed.
 */
#define DT_AGG_HINTS 64
struct dt_agg_hints {
	dt_u32 at[DT_AGG_HINTS];
};

/*
 * A shard stands where the kernel's DTrace has a CPU. Whoever holds its lock
 * fires or drains with it alone. The lock is the holder's thread id (0: free).
 */
struct dt_shard {
	dt_u32 lock;
	dt_u32 active;	   /* index of the principal buffer in use */
	dt_u32 agg_active; /* index of the aggregation buffer in use */
	dt_u32 agg_buckets;
	struct dt_buffer principal[2];
	struct dt_buffer agg[2];
	dt_off specs; /* struct dt_buffer[nspec] */
	dt_off scratch;
	dt_u64 scratch_bytes;
	dt_off locals; /* clause-local variables */
	dt_u64 locals_bytes;
	dt_u64 rand_state;
	dt_u64 drops[DTRACEDROP_N]; /* since the beginning */
	dt_u64 fired;		    /* probes run here */
	dt_u64 last_timestamp;
	struct dt_agg_hints agg_hints[2]; /* of agg[] */
};

static inline void *dt_at(const void *arena, dt_off off)
{
	return (char *)arena + off;
}

#endif
