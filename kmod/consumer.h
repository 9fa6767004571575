/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A consumer: one open file of /dev/dtrace, and what fires for it.
 *
 *   consumer ── arena (dif/arena.h)
 *            ── fbt         one ftrace_ops, a table of functions
 *            ── syscalls    two tracepoints, a table by number
 *            ── tracepoints one registration each
 *            ── timers      one hrtimer for each CPU, or one in all
 *            ── counters    perf's, one for each CPU
 *            ── uprobes     one uprobe_consumer each
 *            ── unwind      tables for ustack()
 *
 * Its mutex guards all but firing. What firing reads is complete before the kernel is
 * told of it, and is freed after the last callback has returned (dt_detach_all()).
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
	void *arena; /* null: none yet; published with release order, its sizes before it */
	u64 program_bytes, total_bytes;
	u64 memory_bytes; /* memory.c: what it has taken */
	u32 slot, generation; /* fbt_return.c */
	struct dt_fbt *fbt;
	struct dt_syscalls *syscalls;
	struct list_head tracepoints;
	struct list_head timers;
	struct list_head counters;
	u32 n_counters;
	struct list_head uprobes;
	struct dt_unwind *unwind; /* null: nothing was told */
	atomic_t n_waiting; /* threads that have a shard and wait for a page */
	bool killed;	    /* deadman.c: nothing fires any more */
	struct dt_consumer *replaced; /* the file's before it claimed this one, or null */
};

/* --- memory.c: with the consumer's mutex held, or before others know it --- */
/* Counts memory that lives as long as the consumer. -ENOMEM: there is too much of it. */
int dt_memory_take(struct dt_consumer *c, u64 bytes);
void dt_memory_give(struct dt_consumer *c, u64 bytes);
/* Zeroed memory, counted; null if there is none. dt_free() takes the same size. */
void *dt_make(struct dt_consumer *c, u64 bytes);
void dt_free(struct dt_consumer *c, void *made, u64 bytes);
/* The same in pages that may be mapped, for vfree() and dt_memory_give(). */
void *dt_make_pages(struct dt_consumer *c, u64 bytes);
/* A copy of what the caller passes, for dt_free(); or an error pointer. */
void *dt_copy_in(struct dt_consumer *c, u64 from, u64 bytes);

/* --- bring_in.c --- */
/* Brings in memory of the current process. False: it is not there, or may never come. */
bool dt_bring_in(unsigned long addr, unsigned long bytes);

/* --- consumer.c --- */
struct dt_consumer *dt_consumer_make(void);
/* With nothing attached. */
void dt_consumer_free(struct dt_consumer *c);
/* Makes config ours, and the arena; sets program_bytes and total_bytes. */
int dt_arena_make(struct dt_consumer *c, struct dtk_arena *a);
void dt_attach_sites(struct dt_consumer *c, struct dtk_site *sites, u32 n);
/* The next text of a list, behind whose end is a NUL; null: there is none. */
const char *dt_next(const char **at, const char *end);
long dt_names_add(struct dt_consumer *c, const char *at, const char *end, u32 n, u32 *n_done);
/* The module's parameter: may D programs harm? */
extern bool dt_destructive;
/* Requests of abi/ioctl.h, with the consumer's mutex held. */
long dt_make_arena(struct dt_consumer *c, struct dtk_arena __user *user);
long dt_load_program(struct dt_consumer *c, struct dtk_load __user *user);
long dt_add_probes(struct dt_consumer *c, struct dtk_list *list);
long dt_add_ecbs(struct dt_consumer *c, struct dtk_list *list);
long dt_attach(struct dt_consumer *c, struct dtk_list *list);

/* --- anonymous.c --- */
void dt_anonymous_begin(void);
void dt_anonymous_end(void);
/* Tells of the anonymous consumer, and makes it the caller's if a copy was wanted. */
long dt_anonymous_claim(struct dtk_claim __user *user, struct dt_consumer **claimed);

/*
 * Where a probe fires, for what D asks about it. Zeroed, then filled in as far as
 * the provider knows.
 */
struct dt_context {
	struct dt_host host; /* fire.c's */
	struct pt_regs *regs; /* of what was interrupted, or null */
	unsigned long frame; /* stack() begins with the frame whose sp is above... */
	unsigned long skip_begin, skip_end; /* ... or behind code that lies here */
	unsigned long caller; /* 0: the second of stack() */
	int error; /* errno */
	u32 in_stack_args; /* arg6 and so on lie at frame + 8 */
	u32 at_call; /* regs are a process': its return address is at regs->sp */
	const struct dt_operand *operands; /* all arguments, of regs; or null */
	u32 n_operands;
	u32 may_wait; /* for so many pages of the process */
	u32 waited; /* fire.c's: it did */
	struct dt_consumer *consumer; /* fire.c's */
};

/* --- fire.c --- */
/* In any context, NMI too. */
void dt_kfire(struct dt_consumer *c, struct dt_context *x, u32 probe, const u64 *args,
	      u32 n_args);
/*
 * Marks this CPU as being in a probe, and turns interrupts off. Returns false,
 * and does neither, if the CPU was in a probe already. Until dt_firing_end()
 * dt_kfire_held() may be called, and kernel functions that run on this CPU
 * fire no probe.
 */
bool dt_firing_begin(struct dt_consumer *c, unsigned long *flags);
void dt_firing_end(unsigned long flags);
void dt_kfire_held(struct dt_consumer *c, struct dt_context *x, u32 probe, const u64 *args,
		   u32 n_args);
/* What could not even try to record itself, by DTRACEDROP_*. */
void dt_lost(struct dt_consumer *c, enum dif_drop why);
/* Brings in memory of the process, where the probe may wait for that. False: it did not. */
bool dt_fault_in(struct dt_context *x, u64 addr, u64 bytes);

/* --- deadman.c: with interrupts off --- */
/* Returns the time if the firing that begins is measured, else 0. */
u64 dt_deadman_begins(void);
/*
 * Adds up the time of a measured firing, and kills a consumer if its CPU has been in probes for too
 * long. spent_ns is what the firing has used of its budget, DT_FIRING_MAX_NS.
 */
#define DT_FIRING_MAX_NS 500000000ull
void dt_deadman_ends(struct dt_consumer *c, u64 begun_ns, u64 spent_ns);

/* Sets thread_key. */
void dt_identify(struct dt_host *host);

/* --- host.c --- */
extern const struct dt_host_ops dt_kernel_ops;
/* May these bytes of the kernel's memory be read? Not where they may be a device's registers. */
bool dt_may_read(u64 addr, u64 bytes);

/* --- providers: with the consumer's mutex held --- */
/* Each site's error is set. */
int dt_fbt_begin(void);
void dt_fbt_end(void);
void dt_fbt_attach(struct dt_consumer *c, struct dtk_site *sites, u32 n);
void dt_fbt_detach(struct dt_consumer *c);
/* Of a system call's negative result. */
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
/* None of them fires any more, and none is in a callback. */
void dt_detach_all(struct dt_consumer *c);

/* --- fbt_return.c --- */
struct ftrace_regs;
void dt_returns_end(void);
int dt_returns_join(struct dt_consumer *c);
void dt_returns_leave(struct dt_consumer *c);
/* The function that is being entered fires probe when it returns, by a row or plainly. */
void dt_return_expect(struct dt_consumer *c, u32 probe, const struct dt_stable *row,
		      struct pt_regs *regs);

/* --- tracepoint.c --- */
struct tracepoint;
int dt_tracepoints_begin(void);
void dt_tracepoints_end(void);
struct tracepoint *dt_tracepoint_find(const char *name);

#endif
