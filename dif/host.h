/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The operations that the engine needs from its host. The hosts are the
 * consumer (for BEGIN, END and tick), the ptrace-agent, the runtime in a
 * target, and the kernel module.
 *
 * A struct dt_host represents one thread during one firing. Operations are
 * called in probe context and must not wait. In a target and in the kernel,
 * they must not allocate memory. An operation that a host does not support is a
 * null pointer. If the engine needs such an operation, it raises a fault or
 * uses a default value.
 */
#ifndef DIF_HOST_H
#define DIF_HOST_H

#include "dif/types.h"

struct dt_host;

struct dt_host_ops {
	/*
	 * Return the monotonic time in ns, and the wall-clock time in ns since
	 * 1970. These two operations are never null.
	 */
	dt_u64 (*timestamp)(struct dt_host *host);
	dt_u64 (*walltime)(struct dt_host *host);
	/* Returns the CPU time of the thread in ns, or 0 if it is unknown. */
	dt_u64 (*vtimestamp)(struct dt_host *host);

	/*
	 * Reads the traced process's memory. Returns 0, or -1 with *bad set to
	 * the first address that could not be read.
	 */
	int (*load)(struct dt_host *host, dt_u64 addr, void *to, dt_u64 bytes,
		    dt_u64 *bad);
	/*
	 * Reads at most max bytes of a string of the traced process. Returns
	 * the length without the NUL, or -1 with *bad set as in load().
	 */
	dt_s64 (*load_string)(struct dt_host *host, dt_u64 addr, char *to,
			      dt_u64 max, dt_u64 *bad);
	/*
	 * Writes to the traced process's memory, for copyout(). Returns 0, or
	 * -1 with *bad set to the first address that could not be written.
	 */
	int (*store)(struct dt_host *host, dt_u64 addr, const void *from,
		     dt_u64 bytes, dt_u64 *bad);

	/*
	 * Reads the probe's argument n, counted from 0. The engine calls arg()
	 * only for arguments that were not passed to dt_fire(). On failure,
	 * returns -1 and sets *bad to the address that could not be read. If
	 * the value is not available, *bad is 0.
	 */
	int (*arg)(struct dt_host *host, dt_u32 n, dt_u64 *value, dt_u64 *bad);
	/*
	 * Reads a builtin that is a NUMBER row of dif/vars.h. index selects the
	 * element of an array. If the builtin is not available, returns -1, and
	 * the D program reads 0. For uregs[], -1 means that the register does
	 * not exist.
	 */
	int (*var)(struct dt_host *host, dt_u32 id, dt_u32 index,
		   dt_u64 *value);
	/*
	 * Reads a builtin that is a STRING row of dif/vars.h. Returns the
	 * number of bytes without the NUL, at most max, or 0 if the builtin is
	 * not available.
	 */
	dt_u64 (*var_string)(struct dt_host *host, dt_u32 id, dt_u32 index,
			     char *to, dt_u64 max);

	/*
	 * Stores the program counters of the user stack, innermost frame first.
	 * Returns their number, or -1 if the stack cannot be read.
	 */
	dt_s64 (*ustack)(struct dt_host *host, dt_u64 *pcs, dt_u32 max);
	/* Does the same as ustack() for the kernel stack. */
	dt_s64 (*stack)(struct dt_host *host, dt_u64 *pcs, dt_u32 max);
	/* Returns whether pid is the traced process or one of its ancestors. */
	int (*progenyof)(struct dt_host *host, dt_u64 pid);

	/*
	 * Runs a subroutine that is marked KERNEL in dif/subrs.h. Returns 0 and
	 * sets *value, or returns -1 and sets *bad to the address that could
	 * not be read.
	 */
	int (*ask)(struct dt_host *host, dt_u32 subr, dt_u64 arg, dt_u64 *value,
		   dt_u64 *bad);

	/*
	 * Run the actions raise() and stop(). They return 0, or -1 on failure.
	 */
	int (*raise)(struct dt_host *host, int sig);
	int (*stop)(struct dt_host *host);
	/*
	 * Runs the action chill(), breakpoint() or panic(). For chill(),
	 * `value` is the time in ns. Returns 0, or -1 on failure.
	 */
	int (*harm)(struct dt_host *host, dt_u32 action, dt_u64 value);

	/* Returns the result of a floating-point instruction (dif/float.h). */
	dt_u64 (*flop)(dt_u32 op, dt_u64 a, dt_u64 b);

	/*
	 * Sets host->owner and host->thread_key. Called when the engine needs
	 * one of these fields and thread_key is 0. Null in hosts that set both
	 * fields before each firing.
	 */
	void (*identify)(struct dt_host *host);
};

struct dt_host {
	const struct dt_host_ops *ops;
	void *arena;  /* the address of the arena in this host */
	dt_u32 cpu;   /* the CPU on which the clauses run */
	/* the shard at which the search for a free shard starts */
	dt_u32 shard;
	dt_u32
	    owner; /* nonzero thread id, stored in locks that the host takes */
	/* 1 if a traced process fires the probe; 0 in BEGIN, END and tick */
	dt_u32 has_target;
	/*
	 * 1 if the host is the consumer or the agent; if the arena has private
	 * shards, these hosts use only private shards
	 */
	dt_u32 own_shards;
	/*
	 * maximum number of times that a firing tests the lock of a busy shard
	 * before it tries other shards
	 */
	dt_u32 shard_tries;
	/*
	 * The engine sets this to 1 when a firing has almost filled the shard's
	 * aggregation buffer. If `fills` is 1, a host that unlocks shards
	 * itself must store the result of dt_shard_idle() in the lock. The host
	 * must set `fills` to 0 before a firing.
	 */
	dt_u32 fills;
	/* owner of thread-local variables: pid << 32 | tid of the target */
	dt_u64 thread_key;
	void *self;	   /* private data of the host */
	dt_u64 budget_ns;  /* time limit for one firing (work.c); 0: no limit */
	/* ns that the firing has used; the host sets it to 0 before a firing */
	dt_u64 spent_ns;
};

#endif
