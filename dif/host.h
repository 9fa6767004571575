/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The operations that the engine needs from its host: the consumer (BEGIN, END,
 * tick), the ptrace-agent, a target's runtime, the kernel.
 *
 * A struct dt_host represents one thread during one firing. Operations are
 * called in probe context: they must not wait, and must not allocate in a
 * target or the kernel. An operation that a host does not support is a null
 * pointer. The D program then gets the fault or value that the engine defines
 * for it.
 */
#ifndef DIF_HOST_H
#define DIF_HOST_H

#include "dif/types.h"

struct dt_host;

struct dt_host_ops {
	/* Monotonic and wall clock, ns. Never null. */
	dt_u64 (*timestamp)(struct dt_host *host);
	dt_u64 (*walltime)(struct dt_host *host);
	/* CPU time of the thread, ns; 0 if unknown. */
	dt_u64 (*vtimestamp)(struct dt_host *host);

	/*
	 * Reads the traced process's memory. Returns 0, or -1 with *bad set to
	 * the first address that could not be read.
	 */
	int (*load)(struct dt_host *host, dt_u64 addr, void *to, dt_u64 bytes,
		    dt_u64 *bad);
	/*
	 * Reads a string of at most max bytes without its NUL. Returns its
	 * length, or -1.
	 */
	dt_s64 (*load_string)(struct dt_host *host, dt_u64 addr, char *to,
			      dt_u64 max, dt_u64 *bad);
	/* Writes for copyout(). Returns 0, or -1 with *bad set. */
	int (*store)(struct dt_host *host, dt_u64 addr, const void *from,
		     dt_u64 bytes, dt_u64 *bad);

	/*
	 * Gets an argument that was not passed to dt_fire(). Returns 0 and sets
	 * *value, or -1 with *bad set to the address that could not be read (0:
	 * the value is not available).
	 */
	int (*arg)(struct dt_host *host, dt_u32 n, dt_u64 *value, dt_u64 *bad);
	/*
	 * Reads a NUMBER row of dif/vars.h. If the row is an array, index is
	 * that of the element. Returns 0 and sets *value, or returns -1; the
	 * variable then reads as 0. For uregs[], -1 means that there is no such
	 * register.
	 */
	int (*var)(struct dt_host *host, dt_u32 id, dt_u32 index,
		   dt_u64 *value);
	/*
	 * Reads a STRING row. Returns the number of bytes without the NUL, at
	 * most max.
	 */
	dt_u64 (*var_string)(struct dt_host *host, dt_u32 id, dt_u32 index,
			     char *to, dt_u64 max);

	/*
	 * Stores the user stack, the innermost frame first. Returns the number
	 * of stored frames, or -1.
	 */
	dt_s64 (*ustack)(struct dt_host *host, dt_u64 *pcs, dt_u32 max);
	/* Stores the kernel's stack in the same way. */
	dt_s64 (*stack)(struct dt_host *host, dt_u64 *pcs, dt_u32 max);
	/* Returns whether pid is the traced process or one of its ancestors. */
	int (*progenyof)(struct dt_host *host, dt_u64 pid);

	/*
	 * Runs a KERNEL row of dif/subrs.h that has one argument. Returns 0 and
	 * sets *value, or -1 with *bad set to the address that could not be
	 * read.
	 */
	int (*ask)(struct dt_host *host, dt_u32 subr, dt_u64 arg, dt_u64 *value,
		   dt_u64 *bad);

	/* Destructive actions. They return 0 or -1. */
	int (*raise)(struct dt_host *host, int sig);
	int (*stop)(struct dt_host *host);
	/*
	 * Runs chill() for `value` ns, breakpoint() or panic(). `action` is its
	 * number in dif/actions.h.
	 */
	int (*harm)(struct dt_host *host, dt_u32 action, dt_u64 value);

	/* Computes in floating point: dif/float.h. */
	dt_u64 (*flop)(dt_u32 op, dt_u64 a, dt_u64 b);

	/*
	 * Sets owner and thread_key if thread_key is 0 and one of the two is
	 * needed, for hosts that must compute them. Null: they are already set.
	 */
	void (*identify)(struct dt_host *host);
};

struct dt_host {
	const struct dt_host_ops *ops;
	void *arena;  /* its address in this host */
	dt_u32 cpu;   /* the CPU on which the clauses run */
	dt_u32 shard; /* where the search for a free shard starts */
	dt_u32
	    owner; /* nonzero id of this holder for shard locks: a thread id */
	/* there is a traced process (not in BEGIN, END, tick) */
	dt_u32 has_target;
	/*
	 * 1: the consumer or the agent, which use only private shards if the
	 * arena has any
	 */
	dt_u32 own_shards;
	/* number of tests of a busy shard before another one is used */
	dt_u32 shard_tries;
	/*
	 * The engine sets this to 1 when a firing has almost filled the shard's
	 * aggregation buffer. A host that holds shards itself must then leave
	 * the shard with dt_shard_leave() and set this to 0.
	 */
	dt_u32 fills;
	/* owner of self-> variables: pid << 32 | tid of the target */
	dt_u64 thread_key;
	void *self;	   /* private data of the host */
	dt_u64 budget_ns;  /* time limit for one firing (work.c); 0: no limit */
	/* the part of the budget that was used; the host sets it to 0 */
	dt_u64 spent_ns;
};

#endif
