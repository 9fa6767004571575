/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A consumer is one open file of /dev/dtrace, with the probes that fire for it.
 *
 *   consumer ── arena (dif/arena.h)
 *            ── fbt         one ftrace_ops, a table of functions
 *            ── syscalls    two tracepoints, a table by number
 *            ── tracepoints one registration each
 *            ── timers      one hrtimer for each CPU, or a single one
 *            ── counters    perf events, one for each CPU
 *            ── uprobes     one uprobe_consumer each
 *            ── unwind      tables for ustack()
 *
 * The mutex of a consumer protects everything except firing. Data that firings
 * read is complete before a callback is registered. The data is freed after the
 * last callback has returned (dt_detach_all()).
 */
#ifndef KMOD_CONSUMER_H
#define KMOD_CONSUMER_H

#include "abi/ioctl.h"

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>

struct pt_regs;
struct dt_fbt;
struct dt_syscalls;
struct dt_unwind;
struct dt_uprobe;

struct dt_consumer {
	struct mutex lock;
	/*
	 * Null until the arena exists. Stored with release order, after
	 * program_bytes and total_bytes.
	 */
	void *arena;
	u64 program_bytes, total_bytes;
	u64 memory_bytes; /* this consumer's memory, see memory.c */
	u32 slot, generation; /* used by fbt_return.c */
	struct dt_fbt *fbt;
	struct dt_syscalls *syscalls;
	struct list_head tracepoints;
	struct list_head timers;
	struct list_head counters;
	u32 n_counters;
	struct list_head uprobes;
	struct dt_unwind *unwind; /* null if the consumer passed no tables */
	atomic_t n_waiting; /* threads that have a shard and wait for a page */
	bool killed;	    /* set by deadman.c; the probes no longer fire */
	/*
	 * The consumer that this consumer replaced when it was claimed
	 * (anonymous.c). Null if this consumer was not claimed.
	 */
	struct dt_consumer *replaced;
};

/*
 * --- memory.c: called with the consumer's mutex held, or before other threads
 * can use the consumer ---
 */
/*
 * Counts memory that the consumer uses. Returns -ENOMEM if the limit would be
 * exceeded.
 */
int dt_memory_take(struct dt_consumer *c, u64 bytes);
void dt_memory_give(struct dt_consumer *c, u64 bytes);
/*
 * Returns zeroed memory and counts it, or returns null. Free the memory with
 * dt_free() and the same size.
 */
void *dt_make(struct dt_consumer *c, u64 bytes);
void dt_free(struct dt_consumer *c, void *made, u64 bytes);
/*
 * Returns zeroed pages that can be mapped, and counts them, or returns null.
 * Free the pages with vfree() and dt_memory_give().
 */
void *dt_make_pages(struct dt_consumer *c, u64 bytes);
/*
 * Copies data from user space. Free the copy with dt_free(). Returns an error
 * pointer on failure.
 */
void *dt_copy_in(struct dt_consumer *c, u64 from, u64 bytes);

/* --- bring_in.c --- */
/*
 * Faults in memory of the current process. Returns false if no memory is mapped
 * at this address, or if another process or machine could delay a page.
 */
bool dt_bring_in(unsigned long addr, unsigned long bytes);

/* --- consumer.c --- */
struct dt_consumer *dt_consumer_make(void);
/* Frees a consumer, which must not have any attached probe. */
void dt_consumer_free(struct dt_consumer *c);
/*
 * Creates the arena from a->config, and sets program_bytes and total_bytes in
 * *c and *a. Returns 0 or a negative errno.
 */
int dt_arena_make(struct dt_consumer *c, struct dtk_arena *a);
void dt_attach_sites(struct dt_consumer *c, struct dtk_site *sites, u32 n);
/*
 * Returns the text at *at in a list of texts that end with NUL, and advances
 * *at. Returns null at the end of the list. The byte before `end` must be a
 * NUL.
 */
const char *dt_next(const char **at, const char *end);
long dt_names_add(struct dt_consumer *c, const char *at, const char *end, u32 n, u32 *n_done);
/* The module parameter that permits destructive actions. */
extern bool dt_destructive;
/* Handle requests that abi/ioctl.h defines, with the consumer's mutex held. */
long dt_make_arena(struct dt_consumer *c, struct dtk_arena __user *user);
long dt_load_program(struct dt_consumer *c, struct dtk_load __user *user);
long dt_add_probes(struct dt_consumer *c, struct dtk_list *list);
long dt_add_ecbs(struct dt_consumer *c, struct dtk_list *list);
long dt_attach(struct dt_consumer *c, struct dtk_list *list);

/* --- anonymous.c --- */
void dt_anonymous_begin(void);
void dt_anonymous_end(void);
/*
 * Describes the anonymous consumer in *user. If user->file is not 0, also
 * copies the file to this address and sets *claimed to the consumer. Returns 0
 * or a negative errno.
 */
long dt_anonymous_claim(struct dtk_claim __user *user, struct dt_consumer **claimed);

/*
 * The state in which a probe fires. The provider zeroes it and sets the members
 * that it knows.
 */
struct dt_context {
	struct dt_host host; /* set by fire.c */
	struct pt_regs *regs; /* registers of the interrupted code, or null */
	/*
	 * if not 0, stack() returns only frames whose sp is above this address
	 */
	unsigned long frame;
	/* if frame is 0, stack() omits frames in this range, see stack.c */
	unsigned long skip_begin, skip_end;
	unsigned long caller; /* if 0, the second frame of stack() is used */
	int error; /* errno */
	/* 1 if arg6 is at frame + 8, with later arguments after it */
	u32 in_stack_args;
	/*
	 * 1 if regs are the registers of a process at the entry or the return
	 * of a function; in this case, the return address is at regs->sp
	 */
	u32 at_call;
	/* how to compute all arguments from regs, or null */
	const struct dt_operand *operands;
	u32 n_operands;
	/* number of pages of the process that the probe may wait for */
	u32 may_wait;
	u32 waited; /* set by fire.c if the firing waited for a page */
	struct dt_consumer *consumer; /* set by fire.c */
};

/* --- fire.c --- */
/* Fires a probe. Runs in any context, including NMIs. */
void dt_kfire(struct dt_consumer *c, struct dt_context *x, u32 probe, const u64 *args,
	      u32 n_args);
/*
 * Marks this CPU as being in a probe, and turns interrupts off. If the CPU is
 * in a probe already, does neither and returns false. Until dt_firing_end(),
 * dt_kfire_held() may be called, and kernel functions that run on this CPU fire
 * no probe.
 */
bool dt_firing_begin(struct dt_consumer *c, unsigned long *flags);
void dt_firing_end(unsigned long flags);
void dt_kfire_held(struct dt_consumer *c, struct dt_context *x, u32 probe, const u64 *args,
		   u32 n_args);
/* Counts a drop of the kind `why`, in the session instead of in a shard. */
void dt_lost(struct dt_consumer *c, enum dif_drop why);
/*
 * Faults in memory of the process if the probe may wait. Returns false if the
 * memory was not faulted in.
 */
bool dt_fault_in(struct dt_context *x, u64 addr, u64 bytes);

/* --- deadman.c: with interrupts off --- */
/*
 * Called when a firing begins. Returns the current time in ns if the firing
 * must be measured, otherwise 0.
 */
u64 dt_deadman_begins(void);
/*
 * Adds the time of a measured firing to the sums of this CPU. Kills the
 * consumer if it has kept the CPU in probes for too long. spent_ns is the part
 * of the budget DT_FIRING_MAX_NS that the firing has used.
 */
#define DT_FIRING_MAX_NS 500000000ull
void dt_deadman_ends(struct dt_consumer *c, u64 begun_ns, u64 spent_ns);

/* Sets host->thread_key, which identifies the owner of self-> variables. */
void dt_identify(struct dt_host *host);

/* --- host.c --- */
extern const struct dt_host_ops dt_kernel_ops;
/*
 * Returns whether these bytes of kernel memory may be read. Returns false if
 * they could be a device's registers.
 */
bool dt_may_read(u64 addr, u64 bytes);

/* --- providers: with the consumer's mutex held --- */
/*
 * dt_fbt_attach() stores 0 or a negative errno in the member `error` of each
 * site.
 */
int dt_fbt_begin(void);
void dt_fbt_end(void);
void dt_fbt_attach(struct dt_consumer *c, struct dtk_site *sites, u32 n);
void dt_fbt_detach(struct dt_consumer *c);
/* Returns the errno for a system call's negative result. */
int dt_errno_of(long result);
int dt_syscall_attach(struct dt_consumer *c, const struct dtk_site *site);
void dt_syscall_detach(struct dt_consumer *c);
int dt_tracepoint_attach(struct dt_consumer *c, const struct dtk_site *site);
int dt_tracepoint_attach_named(struct dt_consumer *c, const struct dtk_site *site,
			       const char *name);
struct dt_stable;
int dt_stable_tracepoint_attach(struct dt_consumer *c, const struct dtk_site *site,
				const struct dt_stable *row);
void dt_tracepoint_detach(struct dt_consumer *c);
int dt_timers_begin(void);
void dt_timers_end(void);
int dt_timer_attach(struct dt_consumer *c, const struct dtk_site *site);
void dt_timer_detach(struct dt_consumer *c);
int dt_cpc_begin(void);
void dt_cpc_end(void);
int dt_cpc_attach(struct dt_consumer *c, const struct dtk_site *site);
void dt_cpc_detach(struct dt_consumer *c);
int dt_uprobe_attach(struct dt_consumer *c, const struct dtk_site *site);
void dt_uprobe_detach(struct dt_consumer *c);
/* Detaches all probes. After the call, no probe fires and no callback runs. */
void dt_detach_all(struct dt_consumer *c);

/* --- fbt_return.c --- */
struct ftrace_regs;
void dt_returns_end(void);
int dt_returns_join(struct dt_consumer *c);
void dt_returns_leave(struct dt_consumer *c);
/*
 * Makes the function that is being entered fire `probe` when the function
 * returns. `row` is the row of a stable probe, or null for an fbt probe.
 */
void dt_return_expect(struct dt_consumer *c, u32 probe, const struct dt_stable *row,
		      struct pt_regs *regs);

/* --- tracepoint.c --- */
struct tracepoint;
int dt_tracepoints_begin(void);
void dt_tracepoints_end(void);
struct tracepoint *dt_tracepoint_find(const char *name);

#endif
