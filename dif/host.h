/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What the engine needs from the place where it runs: the consumer (BEGIN, END,
 * tick), the ptrace-agent, a target's runtime, the kernel.
 *
 * A struct dt_host stands for one thread at one firing. Operations are called
 * in probe context: they may not wait, and in a target or the kernel not
 * allocate. An operation that a host cannot serve is a null pointer, and the D
 * program gets the fault or value that the engine defines for it.
 */
#ifndef DIF_HOST_H
#define DIF_HOST_H

#include "dif/types.h"

struct dt_host;

struct dt_host_ops {
	/* Monotonic and wall clock, ns. Never null. */
	dt_u64 (*timestamp)(struct dt_host *host);
	dt_u64 (*walltime)(struct dt_host *host);
	/* CPU time of the thread, ns; 0 where it cannot be told. */
	dt_u64 (*vtimestamp)(struct dt_host *host);

	/* Reads the traced process' memory: 0, or -1 with *bad the first
	 * address that could not be read. */
	int (*load)(struct dt_host *host, dt_u64 addr, void *to, dt_u64 bytes,
		    dt_u64 *bad);
	/* Reads a string of at most max bytes without its NUL: its length, or
	 * -1. */
	dt_s64 (*load_string)(struct dt_host *host, dt_u64 addr, char *to,
			      dt_u64 max, dt_u64 *bad);
	/* copyout(): 0, or -1 with *bad. */
	int (*store)(struct dt_host *host, dt_u64 addr, const void *from,
		     dt_u64 bytes, dt_u64 *bad);

	/* arg0..arg9 that the provider did not pass: 0 and *value, or -1: with
	 * *bad the address that could not be read, 0: it cannot be had. */
	int (*arg)(struct dt_host *host, dt_u32 n, dt_u64 *value, dt_u64 *bad);
	/* NUMBER rows of dif/vars.h: 0 and *value, or -1: reads as 0. Of an
	 * array index is the element; -1 for uregs[]: no such register. */
	int (*var)(struct dt_host *host, dt_u32 id, dt_u32 index,
		   dt_u64 *value);
	/* STRING rows: bytes without the NUL, at most max. */
	dt_u64 (*var_string)(struct dt_host *host, dt_u32 id, dt_u32 index,
			     char *to, dt_u64 max);

	/* User stack, the innermost frame first: frames stored, or -1. */
	dt_s64 (*ustack)(struct dt_host *host, dt_u64 *pcs, dt_u32 max);
	/* The kernel's, the same. */
	dt_s64 (*stack)(struct dt_host *host, dt_u64 *pcs, dt_u32 max);
	/* Is pid the traced process or one of its ancestors? */
	int (*progenyof)(struct dt_host *host, dt_u64 pid);

	/* KERNEL rows of dif/subrs.h, each of one argument: 0 and *value, or -1
	 * with *bad the address that could not be read. */
	int (*ask)(struct dt_host *host, dt_u32 subr, dt_u64 arg, dt_u64 *value,
		   dt_u64 *bad);

	/* Destructive; 0 or -1. */
	int (*raise)(struct dt_host *host, int sig);
	int (*stop)(struct dt_host *host);
	/* chill() for so many ns, breakpoint(), panic(), by their numbers in
	 * dif/actions.h. */
	int (*harm)(struct dt_host *host, dt_u32 action, dt_u64 value);

	/* Floating point, dif/float.h. */
	dt_u64 (*flop)(dt_u32 op, dt_u64 a, dt_u64 b);

	/*
	 * Fills in owner and thread_key when thread_key is 0 and one of the two is
	 * needed, for hosts that have to look for them. Null: they are there.
	 */
	void (*identify)(struct dt_host *host);
};

struct dt_host {
	const struct dt_host_ops *ops;
	void *arena;  /* where this host mapped it */
	dt_u32 cpu;   /* on which the probe's D runs */
	dt_u32 shard; /* where to look for a free shard first */
	dt_u32
	    owner; /* nonzero id of this holder for shard locks: a thread id */
	dt_u32 has_target; /* a traced process is there (not in BEGIN, END,
			      tick) */
	dt_u32 own_shards; /* 1: the consumer or the agent. It takes private shards,
			      where the arena has any, and no others */
	dt_u32 patience;   /* looks at a busy shard before another is taken */
	dt_u64 thread_key; /* self-> belongs to it: pid << 32 | tid of the
			      target */
	void *self;	   /* the host's own */
	dt_u64 budget_ns;  /* what one firing may take (work.c); 0: any time */
	dt_u64 spent_ns;   /* set to 0 by the host: how much of it was used */
};

#endif
