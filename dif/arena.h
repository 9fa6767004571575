/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The structures of the arena, which is the memory of one session in one
 * contiguous region.
 *
 *   offset 0              program_bytes             private_at    total_bytes
 *   | program (read-only) | session | globals | ... | shards | own | shards |
 *                         | <- shared: targets write here -> |<- private -> |
 *
 * - Only the arena's owner, which loads programs, writes the program part. Its
 *   tables grow in place while probes fire. An entry is complete before the
 *   count that includes it is published with release order.
 * - All references are offsets from the arena's start, never pointers. D
 *   programs use the address DT_VBASE + offset, which is never a valid machine
 *   address.
 * - Only the consumer and the agent map the private part. BEGIN, END, tick and
 *   profile fire only there, so no target can forge their records. The kernel
 *   module's arena has no private part, and no target maps it.
 * - Targets can write the shared part. The consumer copies each value, checks
 *   the copy, and then uses the copy. All fields have a fixed width.
 */
#ifndef DIF_ARENA_H
#define DIF_ARENA_H

#include "dif/dof.h"
#include "dif/faults.h"
#include "dif/options.h"
#include "dif/types.h"

#define DT_ARENA_MAGIC 0x414e455241545244ull /* "DRTARENA" */
#define DT_ARENA_VERSION 11
#define DT_VBASE 0x4454000000000000ull
#define DT_MAX_SHARDS 256

typedef dt_u64 dt_off; /* an offset from the arena's start; 0: none */

struct dt_difo {
	dt_off text; /* dt_u32[n_text] */
	dt_off ints; /* dt_u64[n_ints] */
	dt_off strs; /* NUL-terminated strings, strs_bytes bytes in total */
	dt_off vars; /* struct dif_varinfo[n_vars] */
	dt_u32 n_text, n_ints, strs_bytes, n_vars;
	struct dif_type rtype;
	dt_u32 destructive; /* 1: the DIFO calls copyout() or copyoutstr() */
	dt_u32 pad;
};

/*
 * The forms of simple DIFOs. The engine computes their values without
 * interpreting their instructions (dif/short.c).
 */
enum dt_short_kind {
	DT_SHORT_NONE, /* not simple: interpret the instructions */
	DT_SHORT_VAR, /* the value of a builtin */
	DT_SHORT_CONST, /* a constant */
	/* 1 if a comparison of a builtin with a constant is true, else 0 */
	DT_SHORT_COMPARE,
	DT_SHORT_SELF,	  /* the value of a thread-local variable */
	DT_SHORT_SET_VAR, /* stores a builtin in a thread-local variable */
	DT_SHORT_SET_CONST, /* stores a constant in a thread-local variable */
	DT_SHORT_SINCE, /* a builtin minus a thread-local variable */
};

struct dt_short {
	dt_u32 kind; /* enum dt_short_kind */
	dt_u32 var;  /* the builtin */
	dt_u32 op;   /* DT_SHORT_COMPARE: the branch instruction, DIF_OP_B* */
	dt_u32 self; /* id of the thread-local variable */
	dt_u64 value; /* the constant */
};

/*
 * An entry of a clause: an action, one value of an action with several values,
 * or a part of an aggregation's key. For example, each value of printf() is an
 * entry. `ntuple` in the first of these entries is their number. The parts of a
 * key precede the entry of their aggregation.
 */
struct dt_action {
	dt_u32 kind;
	dt_u32 ntuple;
	dt_off difo; /* 0: no expression */
	dt_u64 arg;
	/* aggregation: variable id; other entries: source line */
	dt_u64 uarg;
	dt_off format;	      /* offset of a string, or 0 */
	/* offset of the value in the record, or in the key if in_key is 1 */
	dt_u32 rec_offset;
	dt_u32 rec_size;      /* size of the recorded value; 0: no value */
	dt_u32 in_key;	      /* 1: part of the key of the next aggregation */
	/*
	 * the size of the entire key, a multiple of 8; set in an aggregation
	 * and in the first part of its key
	 */
	dt_u32 key_bytes;
	dt_u32 value_bytes;   /* aggregation: size of each key's value */
	/* aggregation: offset of its counters in a set, or 0 */
	dt_u32 counters;
	/*
	 * aggregation: maximum number of keys that have counters
	 * (dif/counters.h); 0: no table of keys
	 */
	dt_u32 counted_keys;
	dt_u32 counted_words; /* 64-bit words of each key in this table */
	struct dt_short brief; /* the simple form of difo */
};

struct dt_clause {
	dt_off predicate; /* struct dt_difo or 0 */
	dt_off actions;	  /* struct dt_action[n_actions] */
	dt_u32 n_actions;
	/* size of the entire record with its header, a multiple of 8 */
	dt_u32 rec_bytes;
	dt_u32 flags;	  /* DT_CLAUSE_* */
	dt_u32 line;	  /* line in the source */
	dt_u64 uarg;	  /* the compiler's number for this clause */
	struct dt_short brief; /* the simple form of predicate */
	dt_u32 epid;	       /* EPID of one of its ECBs; 0: it has no ECB */
	dt_u32 pad;
};
/*
 * A firing of the clause writes a record. This flag is set if an action records
 * data, or if the clause has no actions except speculate().
 */
#define DT_CLAUSE_RECORDS 0x1
#define DT_CLAUSE_COMMITS 0x2
#define DT_CLAUSE_SPECULATES 0x4
#define DT_CLAUSE_DESTRUCTIVE 0x8
#define DT_CLAUSE_EXITS 0x10
/* the only action is count() without a key, and there is no predicate */
#define DT_CLAUSE_COUNTS 0x20
#define DT_CLAUSE_IN_TARGETS 0x40 /* has a probe that fires in targets */

/*
 * A probe description of a clause, copied from the DOF. The arena's owner
 * matches probes against it, and adds an ECB for each matching probe
 * (dt_ecb_add()).
 */
struct dt_enabling {
	dt_off provider, mod, func, name; /* strings; "" matches any name */
	dt_u32 id;			  /* probe id from the DOF */
	dt_u32 clause;			  /* index of the clause */
};

struct dt_probe {
	dt_off provider, mod, func, name; /* strings */
	dt_u32 first_ecb;		  /* EPID of the first ECB; 0: none */
	dt_u32 flags;			  /* DT_PROBE_* */
};
/*
 * a probe of the dtrace provider, which fires from DT_ACTIVITY_WARMUP to
 * DT_ACTIVITY_COOLDOWN; other probes fire only in DT_ACTIVITY_ACTIVE
 */
#define DT_PROBE_DTRACE 0x1
/* the probe has several ECBs; set before the second ECB is linked */
#define DT_PROBE_MANY 0x2
#define DT_PROBE_OWN 0x4      /* fires only in the consumer or the agent */
/* the bits of dt_probe.flags from here on contain the number of ECBs */
#define DT_PROBE_ECBS_SHIFT 8

/*
 * The probes of the dtrace provider. Their ids are fixed, because the consumer
 * adds these probes first.
 */
#define DT_PROBE_BEGIN 1
#define DT_PROBE_END 2
#define DT_PROBE_ERROR 3

/*
 * One enabled probe with one clause. The number of an ECB, counted from 1, is
 * its EPID.
 */
struct dt_ecb {
	dt_u32 probe; /* id of the probe, from 1 */
	dt_u32 clause;
	/* EPID of the probe's next ECB, in the order of the clauses; 0: none */
	dt_u32 next;
	dt_u32 pad;
};

struct dt_var {
	dt_u32 id;
	dt_u8 kind, scope;
	dt_u16 flags;
	struct dif_type type;
	/*
	 * global variable: offset in the arena; clause-local variable: offset
	 * in the locals of a shard
	 */
	dt_off storage;
	dt_off name;
};

/* A table with a fixed capacity in the program part. */
struct dt_table {
	dt_off at;
	dt_u32 n;   /* published entries */
	dt_u32 max; /* capacity */
};

/*
 * The offsets of the parts of a shard from its start, and their sizes. Targets
 * can overwrite a shard's own struct dt_buffer, so the engine uses only the
 * values here.
 */
struct dt_shard_plan {
	dt_u64 specs;  /* struct dt_buffer[n_specs] */
	/*
	 * two sets of clause-local variables; the second is for ERROR's clauses
	 */
	dt_u64 locals;
	/*
	 * two strings of strsize bytes that strtok() splits; the second is for
	 * ERROR's clauses
	 */
	dt_u64 strtok;
	dt_u64 scratch;
	dt_u64 principal[2];
	dt_u64 agg[2];
	dt_u64 spec_data; /* n_specs areas of spec_bytes */
	dt_u64 locals_bytes, scratch_bytes, principal_bytes, agg_bytes;
	dt_u64 spec_bytes;
	dt_u32 agg_buckets; /* a power of two */
	dt_u32 n_specs;
	/* shards 0 to n_parkable - 1 can be parked (shard.c) */
	dt_u32 n_parkable;
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
 * The sets of counters. Threads increment the first set with locked
 * instructions. Each other set is incremented only on one CPU: the second set
 * on CPU 0, and so on.
 */
struct dt_counter_plan {
	dt_off sets; /* all sets, in the shared part */
	/*
	 * the value of each counter at the last drain; in the private part, or
	 * in the program part if there is no private part
	 */
	dt_off seen;
	dt_u32 n_cpus;
	dt_u32 used;   /* the number of bytes of a set that actions use */
	dt_u32 n_sets; /* n_cpus + 1; 0 in the kernel, which has no counters */
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
	dt_u64 heap_used; /* offset of the free space in the program part */
	struct dt_table difos, clauses, enablings, probes, ecbs, vars;
	dt_u64 options[DTRACEOPT_N];
	dt_off session;	      /* struct dt_session */
	dt_off globals;	      /* storage of global variables */
	dt_u64 globals_bytes; /* capacity */
	dt_u64 globals_used;
	dt_off dynvars;	       /* struct dt_dynspace, dif/dynvar.c */
	/*
	 * struct dt_shard[n_shards]; the shared shards precede the private ones
	 */
	dt_off shards;
	dt_u64 shard_bytes;    /* distance between shards */
	dt_u64 locals_used;    /* bytes allocated for clause-local variables */
	dt_u64 start_walltime; /* creation time of the arena, ns since 1970 */
	/*
	 * 1: every host has the operation flop, so floating-point instructions
	 * are allowed
	 */
	dt_u64 has_float;
	/* 1: the host is the kernel, so kernel-only features are allowed */
	dt_u64 has_kernel;
	/*
	 * dt_u32[3][65536], indexed by a variable's scope and id: 1 + its index
	 * in vars, or 0 if there is no such variable
	 */
	dt_off var_index;
	dt_u64 dynvars_bytes;
	struct dt_dyn_plan dyn;
	struct dt_shard_plan plan;
	struct dt_counter_plan counters;
	/* number of shared shards; n_shards if there is no private part */
	dt_u32 n_shared;
	/* 1: stack(), caller and stackdepth are allowed outside the kernel */
	dt_u32 has_stack;
	/* start of the private part; total_bytes if it does not exist */
	dt_off private_at;
	dt_off own;	   /* struct dt_own_session; 0: no private part */
};

enum dt_activity {
	DT_ACTIVITY_INACTIVE, /* tracing has not started */
	/* BEGIN is running: only the dtrace provider's probes fire */
	DT_ACTIVITY_WARMUP,
	DT_ACTIVITY_ACTIVE,
	/* exit() was called: only the dtrace provider's probes fire */
	DT_ACTIVITY_DRAINING,
	/* END is running: only the dtrace provider's probes fire */
	DT_ACTIVITY_COOLDOWN,
	DT_ACTIVITY_STOPPED,
	DT_ACTIVITY_KILLED,
};

enum dt_spec_state {
	DT_SPEC_INACTIVE,
	DT_SPEC_ACTIVE,
	/* committed, but other shards must still move their records */
	DT_SPEC_COMMITTING,
	/* discarded, but other shards must still remove their records */
	DT_SPEC_DISCARDING,
};

#define DT_MAX_SPECS 1024

/*
 * A clock for hosts that cannot call clock_gettime(2). When the processor's
 * time stamp counter is t, ((t - tsc) * mult >> shift) ns have passed since
 * mono_ns (CLOCK_MONOTONIC) and wall_ns (CLOCK_REALTIME). The consumer
 * regularly updates the clock. The monotonic time never goes backwards for a
 * reader.
 *
 * seq is odd while the consumer writes. seq is 0 if the clock cannot be used,
 * for example because the kernel's own clock does not use the counter.
 */
struct dt_clock {
	dt_u32 seq;
	dt_u32 shift; /* < 64 */
	dt_u64 tsc;
	dt_u64 mono_ns;
	dt_u64 wall_ns;
	dt_u64 mult;
};

/* The state of the session. All hosts write it, using only atomic operations. */
struct dt_session {
	dt_u32 activity; /* enum dt_activity */
	dt_u32 exited;	 /* 1 after exit() was called */
	dt_u32 filled;	 /* 1 after a buffer with bufpolicy=fill became full */
	dt_u32 pad;
	/* end of the lease in ns of CLOCK_MONOTONIC; the consumer extends it */
	dt_u64 lease_until;
	/* in the same cache line as the fields above, for speed */
	struct dt_clock clock;
	dt_u64 drops[DTRACEDROP_N]; /* drops that do not belong to a shard */
	/*
	 * Bits 0 to 7: enum dt_spec_state. The bits from 8 on: 0 if no shard
	 * has records of the speculation, 1 + the shard's number if only one
	 * shard has records, or DT_SPEC_MANY.
	 */
	dt_u32 spec_state[DT_MAX_SPECS];
};
DT_STATIC_ASSERT(__builtin_offsetof(struct dt_session, drops) == 64,
		 "the fields that each firing reads fill one cache line");

/*
 * Private copies of two words of struct dt_session. Hosts that use the private
 * part read only these copies, because a target could end the session by
 * writing the shared words.
 */
struct dt_own_session {
	dt_u32 activity; /* enum dt_activity */
	dt_u32 exited;	 /* 1 after exit() was called in a private shard */
};

#define DT_SPEC_STATE(word) ((word)&0xff)
#define DT_SPEC_WRITER(word) ((word) >> 8)
#define DT_SPEC_MANY 0xffffffu

/* The header of a record in a principal or speculation buffer. */
struct dt_rechdr {
	dt_u32 epid; /* 0: padding follows up to the end of the buffer */
	dt_u16 cpu;
	dt_u16 flags; /* DT_REC_* */
	dt_u64 timestamp;
};
DT_STATIC_ASSERT(sizeof(struct dt_rechdr) == 16, "record header is 16 bytes");
#define DT_REC_ERROR                                                           \
	0x1 /* the data is a struct dt_rec_error, not the clause's values      \
	     */

/*
 * A record about a fault (DT_REC_ERROR) has this data after its header. The
 * header's epid is the EPID of the ECB whose clause faulted.
 */
struct dt_rec_error {
	dt_u32 action; /* number of the action, from 1; 0: the predicate */
	dt_u32 offset; /* byte offset of the DIF instruction in the DIFO */
	dt_u32 fault;  /* DTRACEFLT_* */
	dt_u32 pad;
	dt_u64 value; /* the address that caused the fault, or 0 */
};

/*
 * A buffer in the range [at, at + size) of the arena. Its first `used` bytes
 * contain records.
 */
struct dt_buffer {
	dt_off at;
	dt_u64 size;
	dt_u64 used;
	/* bufpolicy=ring: offset of the oldest record (dif/buffer.c) */
	dt_u64 wrapped;
};

/*
 * An entry of an aggregation buffer. The buffer starts with its hash buckets,
 * which are dt_u32 offsets from dt_buffer.at.
 */
struct dt_aggent {
	/*
	 * the next entry of the same bucket, as an offset in the buffer; 0 in
	 * the last entry
	 */
	dt_u32 next;
	dt_u32 hash;
	dt_u32 bytes;	    /* size of the entry, a multiple of 8 */
	/*
	 * the ECB that created the entry; its clause describes the parts of the
	 * key
	 */
	dt_u32 epid;
	dt_u32 aggvar;	    /* variable id of the aggregation */
	dt_u32 action;	    /* index of the aggregating action in the clause */
	dt_u32 key_bytes;   /* a multiple of 8; the key follows this header */
	dt_u32 value_bytes; /* the value follows the key */
};
DT_STATIC_ASSERT(sizeof(struct dt_aggent) == 32,
		 "header of an aggregation entry is 32 bytes");

/*
 * The value of a short entry for quantize(), lquantize() or llquantize(). It is
 * the count of one bucket. An entry with all buckets has a larger value_bytes.
 * The counts of a key are the sums over all its entries.
 */
struct dt_aggpoint {
	dt_u64 word;	/* index of the bucket in the array of all buckets */
	dt_u64 count;
};

/*
 * A cache of the offsets of entries in an aggregation buffer; 0 means no entry.
 * A hash of the ECB and the key selects an element. The engine compares the key
 * of the entry before it uses the entry.
 */
#define DT_AGG_HINTS 64
struct dt_agg_hints {
	dt_u32 at[DT_AGG_HINTS];
};

/*
 * A thread locks a shard to fire probes in it or to drain it. While no thread
 * holds the shard, the lock is 0, or DT_SHARD_PARKED if only the consumer may
 * take the shard (shard.c).
 */
#define DT_SHARD_PARKED 0x3fffffff /* no thread or CPU has this id */
struct dt_shard {
	dt_u32 lock; /* thread id of the holder, 0 or DT_SHARD_PARKED */
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
	dt_u64 drops[DTRACEDROP_N]; /* number of drops since the start */
	dt_u64 fired;		    /* number of firings in this shard */
	dt_u64 last_timestamp;
	struct dt_agg_hints agg_hints[2]; /* for agg[] */
};

static inline void *dt_at(const void *arena, dt_off off)
{
	return (char *)arena + off;
}

#endif
