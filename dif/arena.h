/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The arena: the memory of one session, in one contiguous region.
 *
 *   offset 0              program_bytes                 private_at        total_bytes
 *   | program (read-only) | session | globals | ...      | shards | own | shards |
 *                         | <- shared: targets write here -> | <- private -> |
 *
 * Only the arena's owner, which loads programs, writes the program part; other
 * hosts map it read-only. Its tables have a fixed capacity and grow in place,
 * so that probes which appear later (dlopen) can be added while others fire. An
 * entry is complete before the count that includes it is published with release
 * order.
 *
 * Each process maps the arena at a different address, so all references are
 * offsets from its start, never pointers. To D programs, arena memory has the
 * same addresses in every host: DT_VBASE + offset. These are never valid
 * machine addresses: on x86-64 they are not canonical, with either four or five
 * levels of page tables. So the engine distinguishes its own memory from the
 * target's by the address alone.
 *
 * Only the consumer and the agent map the private part. Hosts that run in these
 * processes (struct dt_host, own_shards) use the last shards, which are in that
 * part. BEGIN, END, tick and profile fire only there, so no target can forge
 * their records. An arena that no target maps (the kernel's) has no private
 * part, and every host may use all of its shards.
 *
 * Counters precede the shards. Native code adds to them without a shard or a
 * lock: for aggregations without a key, and for the first keys of other
 * aggregations. Their values only grow. The consumer stores the values that it
 * read last in the program part (dif/counters.c).
 *
 * Targets can write the shared part. So the consumer copies each value, checks
 * the copy, and then uses it. All widths are fixed.
 */
#ifndef DIF_ARENA_H
#define DIF_ARENA_H

#include "dif/dof.h"
#include "dif/faults.h"
#include "dif/options.h"
#include "dif/types.h"

#define DT_ARENA_MAGIC 0x414e455241545244ull /* "DRTARENA" */
#define DT_ARENA_VERSION 10
#define DT_VBASE 0x4454000000000000ull
#define DT_MAX_SHARDS 256

typedef dt_u64 dt_off; /* from the arena's start; 0: none */

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

/*
 * A DIF object whose value can be computed without running its text:
 * dif/short.c.
 */
enum dt_short_kind {
	DT_SHORT_NONE,
	DT_SHORT_VAR, /* a builtin */
	DT_SHORT_CONST,
	/* compares a builtin with a number, with a branch's condition */
	DT_SHORT_COMPARE,
	DT_SHORT_SELF,	  /* a thread-local variable */
	DT_SHORT_SET_VAR, /* stores a builtin in a thread-local variable */
	DT_SHORT_SET_CONST,
	DT_SHORT_SINCE, /* a builtin minus a thread-local variable */
};

struct dt_short {
	dt_u32 kind;
	dt_u32 var;
	dt_u32 op; /* DIF_OP_B* */
	dt_u32 self;
	dt_u64 value;
};

/*
 * One action of a clause. An action with several values (printf) consists of
 * consecutive entries of its kind, and ntuple of the first one is the number of
 * values. The entries for the keys of an aggregation precede its own entry.
 */
struct dt_action {
	dt_u32 kind;
	dt_u32 ntuple;
	dt_off difo; /* 0: no expression */
	dt_u64 arg;
	dt_u64 uarg;	      /* aggregation: variable id; else source line */
	dt_off format;	      /* offset of a string, or 0 */
	dt_u32 rec_offset;    /* from the start of the record, or of the key */
	dt_u32 rec_size;      /* 0: writes no record */
	dt_u32 in_key;	      /* 1: part of the key of the next aggregation */
	/* aggregation: size of the complete key, 8-aligned */
	dt_u32 key_bytes;
	dt_u32 value_bytes;   /* aggregation: size of its value for a key */
	/* aggregation: offset in a set of counters, or 0 */
	dt_u32 counters;
	/* number of entries in its table of keys, 0: no table */
	dt_u32 counted_keys;
	dt_u32 counted_words; /* words of a key in that table */
	struct dt_short brief; /* of difo */
};

struct dt_clause {
	dt_off predicate; /* struct dt_difo or 0 */
	dt_off actions;	  /* struct dt_action[n_actions] */
	dt_u32 n_actions;
	/* of the complete record with its header, 8-aligned */
	dt_u32 rec_bytes;
	dt_u32 flags;	  /* DT_CLAUSE_* */
	dt_u32 line;	  /* in the source */
	dt_u64 uarg;	  /* the compiler's number for this clause */
	struct dt_short brief; /* of predicate */
	dt_u32 epid;	       /* of one of its ECBs, 0: none yet */
	dt_u32 pad;
};
#define DT_CLAUSE_RECORDS 0x1 /* has an action that records, or no action */
#define DT_CLAUSE_COMMITS 0x2
#define DT_CLAUSE_SPECULATES 0x4
#define DT_CLAUSE_DESTRUCTIVE 0x8
#define DT_CLAUSE_EXITS 0x10
#define DT_CLAUSE_COUNTS 0x20 /* is only a count(), without key or predicate */
#define DT_CLAUSE_IN_TARGETS 0x40 /* has a probe that fires in targets */

/*
 * A probe description of a clause. It is matched against probes when they
 * appear.
 */
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
/* a probe of provider dtrace, which also fires while BEGIN runs */
#define DT_PROBE_DTRACE 0x1
#define DT_PROBE_MANY 0x2     /* has several ECBs, or soon will */
#define DT_PROBE_OWN 0x4      /* fires only in the consumer or the agent */
/* the bits from here on contain the number of ECBs */
#define DT_PROBE_ECBS_SHIFT 8

/* The ids of these three are fixed: the consumer adds them first. */
#define DT_PROBE_BEGIN 1
#define DT_PROBE_END 2
#define DT_PROBE_ERROR 3

/*
 * One enabled probe with one clause. Its number, counted from 1, is the EPID.
 */
struct dt_ecb {
	dt_u32 probe; /* id, from 1 */
	dt_u32 clause;
	dt_u32 next; /* EPID of the next one in program order, 0: last */
	dt_u32 pad;
};

/* A variable of the D program. */
struct dt_var {
	dt_u32 id;
	dt_u8 kind, scope;
	dt_u16 flags;
	struct dif_type type;
	dt_off
	    storage; /* global: in the arena; local: in a shard's locals */
	dt_off name;
};

/* A fixed-capacity table of the program part. */
struct dt_table {
	dt_off at;
	dt_u32 n;   /* published entries */
	dt_u32 max; /* capacity */
};

/*
 * The offsets of the parts of a shard from its start, and their sizes. All
 * shards have the same layout. Targets can overwrite a shard's own struct
 * dt_buffer, so the engine uses only the offsets and sizes here.
 */
struct dt_shard_plan {
	dt_u64 specs;  /* struct dt_buffer[n_specs] */
	dt_u64 locals; /* two: the second is for ERROR's clauses */
	dt_u64 strtok; /* two of strsize bytes */
	dt_u64 scratch;
	dt_u64 principal[2];
	dt_u64 agg[2];
	dt_u64 spec_data; /* n_specs areas of spec_bytes */
	dt_u64 locals_bytes, scratch_bytes, principal_bytes, agg_bytes;
	dt_u64 spec_bytes;
	dt_u32 agg_buckets; /* a power of two */
	dt_u32 n_specs;
	dt_u32 n_parkable; /* the shards below this number can be parked */
	dt_u32 unused;
};

/*
 * The offsets of the parts of the space for dynamic variables, from the arena's
 * start.
 */
struct dt_dyn_plan {
	dt_off buckets; /* struct dt_bucket[n_buckets] */
	dt_off slots;	/* struct dt_slot[n_slots] */
	dt_off pool;
	dt_u64 pool_bytes;
	dt_u32 n_buckets, n_slots; /* powers of two */
};

/*
 * Sets of counters, as offsets from the arena's start. The first set is
 * incremented by locked instructions. Each of the other sets is incremented on
 * one CPU only: the second set on CPU 0, and so on.
 */
struct dt_counter_plan {
	dt_off sets; /* data part */
	/* program part: the consumer's last value of each counter */
	dt_off seen;
	dt_u32 n_cpus;
	dt_u32 used;   /* bytes of a set that actions use */
	dt_u32 n_sets; /* n_cpus + 1, or 0 */
	dt_u32 pad;
};
#define DT_COUNTERS_SHIFT 20
#define DT_COUNTERS_BYTES (1u << DT_COUNTERS_SHIFT) /* size of a set */

struct dt_arena {
	dt_u64 magic;
	dt_u32 version;
	dt_u32 n_shards;
	dt_u64 program_bytes;
	dt_u64 total_bytes;
	dt_u64 heap_used; /* program part: bytes allocated */
	struct dt_table difos, clauses, enablings, probes, ecbs, vars;
	dt_u64 options[DTRACEOPT_N];
	dt_off session;	      /* struct dt_session */
	dt_off globals;	      /* storage of global variables */
	dt_u64 globals_bytes; /* capacity */
	dt_u64 globals_used;
	dt_off dynvars;	       /* struct dt_dynspace, dif/dynvar.c */
	dt_off shards;	       /* struct dt_shard[n_shards]; the shared ones first */
	dt_u64 shard_bytes;    /* distance between shards */
	dt_u64 locals_used;    /* bytes of a shard's clause-local storage */
	dt_u64 start_walltime; /* ns since 1970 at creation */
	/* 1: every host has flop, so f* instructions are allowed */
	dt_u64 has_float;
	/* 1: the host is the kernel, so kernel-only features are allowed */
	dt_u64 has_kernel;
	/* dt_u32[3][65536]: maps scope and id to the index in vars + 1 */
	dt_off var_index;
	dt_u64 dynvars_bytes;
	struct dt_dyn_plan dyn;
	struct dt_shard_plan plan;
	struct dt_counter_plan counters;
	/* number of shards that targets map; n_shards: no private part */
	dt_u32 n_shared;
	dt_u32 pad;
	dt_off private_at; /* total_bytes: there is no private part */
	dt_off own;	   /* struct dt_own_session, 0: none */
};

enum dt_activity {
	DT_ACTIVITY_INACTIVE, /* tracing has not started */
	DT_ACTIVITY_WARMUP,   /* BEGIN runs, no other probe fires */
	DT_ACTIVITY_ACTIVE,
	/* exit() was called: only probes of dtrace::: fire */
	DT_ACTIVITY_DRAINING,
	DT_ACTIVITY_COOLDOWN, /* END runs */
	DT_ACTIVITY_STOPPED,
	DT_ACTIVITY_KILLED,
};

enum dt_spec_state {
	DT_SPEC_INACTIVE,
	DT_SPEC_ACTIVE,
	DT_SPEC_COMMITTING, /* parts in other shards must still be moved */
	DT_SPEC_DISCARDING, /* parts in other shards must still be emptied */
};

#define DT_MAX_SPECS 1024

/*
 * A clock for hosts that cannot read one cheaply. It is a line, a linear
 * function of the processor's time stamp counter that follows CLOCK_MONOTONIC,
 * and the consumer renews it. When the counter is t, ((t - tsc) * mult >>
 * shift) ns have passed since mono_ns and wall_ns. A new line starts at the
 * time that the previous line gives at that moment, so that no reader sees time
 * go back. seq is odd while the consumer rewrites the line. seq is 0 if the
 * line was never set, because this system does not use the counter as its
 * clock.
 */
struct dt_clock {
	dt_u32 seq;
	dt_u32 shift; /* < 64 */
	dt_u64 tsc;
	dt_u64 mono_ns;
	dt_u64 wall_ns;
	dt_u64 mult;
};

/* Every host writes this, with atomic operations only. */
struct dt_session {
	dt_u32 activity; /* enum dt_activity */
	dt_u32 exited;	 /* 1 once exit() was recorded */
	dt_u32 filled;	 /* 1 once a fill buffer is full */
	dt_u32 pad;
	dt_u64 lease_until; /* monotonic ns; renewed until the consumer dies */
	/* in the same cache line as the fields above */
	struct dt_clock clock;
	dt_u64 drops[DTRACEDROP_N]; /* drops that do not belong to a shard */
	/*
	 * enum dt_spec_state; the bits from 8 on contain the writers: 0 for no
	 * shard, the number + 1 of a single shard, or DT_SPEC_MANY
	 */
	dt_u32 spec_state[DT_MAX_SPECS];
};
DT_STATIC_ASSERT(__builtin_offsetof(struct dt_session, drops) == 64,
		 "what each firing reads is one cache line");

/*
 * Private copies of two words of struct dt_session. Hosts that use the private
 * part read only these. A target can write the session's words, and could
 * otherwise end the session.
 */
struct dt_own_session {
	dt_u32 activity; /* enum dt_activity */
	dt_u32 exited;	 /* 1 once exit() was recorded in a private shard */
};

#define DT_SPEC_STATE(word) ((word)&0xff)
#define DT_SPEC_WRITER(word) ((word) >> 8)
#define DT_SPEC_MANY 0xffffffu

/* The header of a record in a principal or speculation buffer. */
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

/*
 * The data of an ERROR firing. The header's epid is the ECB whose clause
 * faulted.
 */
struct dt_rec_error {
	dt_u32 action; /* counted from 1, 0: predicate */
	dt_u32 offset; /* of the DIF instruction, in bytes */
	dt_u32 fault;  /* DTRACEFLT_* */
	dt_u32 pad;
	dt_u64 value; /* address or 0 */
};

/*
 * One buffer: the range [at, at + size), and how many of its bytes contain
 * records.
 */
struct dt_buffer {
	dt_off at;
	dt_u64 size;
	dt_u64 used;
	dt_u64 wrapped; /* ring: offset where the oldest record starts */
};

/*
 * An entry of an aggregation buffer. The buffer starts with its hash buckets,
 * which are dt_u32 offsets from dt_buffer.at. The entries follow.
 */
struct dt_aggent {
	dt_u32 next; /* offset in the buffer, 0: last in its bucket */
	dt_u32 hash;
	dt_u32 bytes;	    /* of the entry, 8-aligned */
	/* the clause that created it, which describes the key's parts */
	dt_u32 epid;
	dt_u32 aggvar;	    /* variable id of the aggregation */
	dt_u32 action;	    /* index of the aggregating action in the clause */
	dt_u32 key_bytes;   /* 8-aligned; the key follows */
	dt_u32 value_bytes; /* the value follows the key */
};
DT_STATIC_ASSERT(sizeof(struct dt_aggent) == 32,
		 "aggregation entry is 32 bytes");

/*
 * The offsets in the buffer where keys were last found, by clause and key; 0:
 * none. The entry at an offset is checked before it is used.
 */
#define DT_AGG_HINTS 64
struct dt_agg_hints {
	dt_u32 at[DT_AGG_HINTS];
};

/*
 * A shard corresponds to a CPU in the kernel's DTrace. Only the holder of its
 * lock may fire probes with it or drain it. The lock is the holder's thread id
 * (0: free; DT_SHARD_PARKED: only the consumer may take it, see shard.c).
 */
#define DT_SHARD_PARKED 0x3fffffff /* not the id of a holder */
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
	dt_u64 drops[DTRACEDROP_N]; /* since the start */
	dt_u64 fired;		    /* number of firings in this shard */
	dt_u64 last_timestamp;
	struct dt_agg_hints agg_hints[2]; /* for agg[] */
};

static inline void *dt_at(const void *arena, dt_off off)
{
	return (char *)arena + off;
}

#endif
