/* SPDX-License-Identifier: MIT */
/*
 * Internal declarations of the runtime: the state of one firing, and the
 * functions of its host operations.
 */
#ifndef PTRACE_AGENT_RUNTIME_HOST_H
#define PTRACE_AGENT_RUNTIME_HOST_H

#include "dif/engine.h"
#include "dif/mem.h"
#include "ptrace-agent/runtime/runtime.h"

/*
 * Hidden visibility makes the address of the config relative to the pc. No
 * loader needs to fill in the address.
 */
extern const struct dt_rt_config dt_rt_config
	__attribute__((visibility("hidden")));

/* The table of calls in progress (DT_RT_CALLS). */
DT_INLINE struct dt_rt_call *dt_rt_calls(void)
{
	return (struct dt_rt_call *)((dt_u64)&dt_rt_config - DT_RT_CONFIG +
				     DT_RT_CALLS);
}

/* The words from which a stack walk found the caller of one frame. */
struct dt_rt_noted {
	/*
	 * pc_at is the address of the word that contains the return address pc.
	 */
	dt_u64 pc_at, pc;
	/*
	 * bp_at is the address of the word that contains the saved %rbp, and bp
	 * is its value. If %rbp was not saved, these are copies of pc_at and
	 * pc.
	 */
	dt_u64 bp_at, bp;
};
#define DT_RT_NOTED_FRAMES 24
struct dt_rt_noted_stack {
	/* pc and registers of the first frame; `at` is 0 if nothing is noted */
	dt_u64 at, sp, bp;
	dt_u32 rules_seq, ranges_seq;
	dt_u32 max; /* the maximum number of frames that was requested */
	dt_u32 n;   /* the number of frames after the first */
	struct dt_rt_noted frames[DT_RT_NOTED_FRAMES];
};
#define DT_RT_NOTED_STACKS 4 /* a power of two */

/*
 * Data that the runtime keeps from one firing to the next. Each shard has its
 * own, at the top of its stack (runtime.h). Only the thread that holds the
 * shard may write it. The first firing in a shard fills in `ops`.
 */
struct dt_rt_notes {
	/* Equals the address of the config if ops is filled in. */
	dt_u64 ready;
	/* pid of the process whose thread uses the stack, or 0; see enter.S */
	dt_u32 holder;
	dt_u32 pad;
	dt_u32 range; /* hint: the last load used config->ranges[range] */
	dt_u32 thread; /* hint: index in config->threads of the last thread */
	struct dt_host_ops ops;
	struct dt_rt_noted_stack stacks[DT_RT_NOTED_STACKS];
};
DT_STATIC_ASSERT(sizeof(struct dt_rt_notes) <= DT_RT_NOTES_BYTES, "notes fit");
DT_STATIC_ASSERT(__builtin_offsetof(struct dt_rt_notes, holder) ==
			 DT_RT_NOTES_HOLDER,
		 "enter.S finds it");

/*
 * The state of one thread while it fires the probes of a site. host must be the
 * first member (dt_rt_run_of()).
 */
struct dt_rt_run {
	struct dt_host host;
	struct dt_rt_frame *frame;
	const struct dt_rt_site *site;
	struct dt_rt_notes *notes;
	const struct dt_rt_firing *firing; /* the current one */
};

DT_INLINE struct dt_rt_run *dt_rt_run_of(struct dt_host *host)
{
	return (struct dt_rt_run *)host;
}

/* --- enter.S --- */
struct dt_rt_copied {
	dt_u64 failed;
	/*
	 * If failed is not 0, this is the address that faulted, or 0 if it is
	 * unknown. Otherwise it is the length of the string, without the NUL.
	 * dt_rt_copy() does not set the length.
	 */
	dt_u64 at;
};
/*
 * Reads a word of the stack. Returns 0, or -1 if the word is not readable.
 * Changes only two registers, so it is fast in a loop.
 */
DT_INLINE int dt_rt_peek(dt_u64 addr, dt_u64 *value)
{
	dt_u64 failed;

	__asm__ volatile("call dt_rt_peek"
			 : "=a"(*value), "=d"(failed)
			 : "D"(addr)
			 : "memory");
	return DT_UNLIKELY(failed) ? -1 : 0;
}
dt_u64 dt_rt_changed(const struct dt_rt_noted *frames, dt_u64 n, dt_u64 *pcs);
struct dt_rt_copied dt_rt_copy(void *to, const void *from, dt_u64 bytes);
struct dt_rt_copied dt_rt_copy_string(char *to, const char *from, dt_u64 max);
void dt_rt_upcall(struct dt_rt_upcall *call);

/* --- host.c, ask.c --- */
void dt_rt_notes_fill(struct dt_rt_notes *notes);
/* Makes an upcall. Returns 0, or -1 if the agent refuses it or has exited. */
int dt_rt_ask(struct dt_rt_run *run, dt_u32 op, dt_u64 a0, dt_u64 a1, dt_u64 a2,
	      dt_u64 *value);
int dt_rt_fs_base(struct dt_rt_run *run, dt_u64 *value);
void dt_rt_identify(struct dt_host *host);

/* --- operands.c --- */
/*
 * Reads argument n of the static probe that fires. Returns 0 on success. If the
 * argument is not readable, returns -1 and stores the address in *bad.
 */
int dt_rt_static_arg(struct dt_rt_run *run, dt_u32 n, dt_u64 *value, dt_u64 *bad);
int dt_rt_jumps_out(struct dt_rt_run *run, dt_u64 *offset);

/* --- clock.c --- */
dt_u64 dt_rt_timestamp(struct dt_host *host);
dt_u64 dt_rt_walltime(struct dt_host *host);
dt_u64 dt_rt_vtimestamp(struct dt_host *host);

/* --- memory.c --- */
/*
 * Returns how many bytes at addr are readable, according to the agent's table
 * of ranges. Returns 0 if addr is in no range, or if the table is being
 * rewritten.
 */
dt_u64 dt_rt_known(struct dt_rt_run *run, dt_u64 addr);
int dt_rt_load(struct dt_host *host, dt_u64 addr, void *to, dt_u64 bytes,
	       dt_u64 *bad);
dt_s64 dt_rt_load_string(struct dt_host *host, dt_u64 addr, char *to,
			 dt_u64 max, dt_u64 *bad);
int dt_rt_store(struct dt_host *host, dt_u64 addr, const void *from,
		dt_u64 bytes, dt_u64 *bad);

/* --- vars.c --- */
int dt_rt_var(struct dt_host *host, dt_u32 id, dt_u32 index, dt_u64 *value);
dt_u64 dt_rt_var_string(struct dt_host *host, dt_u32 id, dt_u32 index, char *to,
			dt_u64 max);
int dt_rt_gs_base(dt_u64 *value);
int dt_rt_progenyof(struct dt_host *host, dt_u64 pid);
int dt_rt_raise(struct dt_host *host, int sig);
int dt_rt_stop(struct dt_host *host);

/* --- ustack.c --- */
dt_s64 dt_rt_ustack(struct dt_host *host, dt_u64 *pcs, dt_u32 max);

/* --- system calls of this thread, only if config.may_call is set --- */

/* System call numbers of Linux on x86-64. */
enum {
	DT_SYS_getpid = 39,
	DT_SYS_arch_prctl = 158,
	DT_SYS_gettid = 186,
	DT_SYS_clock_gettime = 228,
	DT_SYS_tgkill = 234,
	DT_SYS_process_vm_readv = 310,
	DT_SYS_process_vm_writev = 311,
};

DT_INLINE dt_s64 dt_rt_syscall(dt_u64 no, dt_u64 a, dt_u64 b, dt_u64 c,
			       dt_u64 d, dt_u64 e, dt_u64 f)
{
	register dt_u64 r10 __asm__("r10") = d;
	register dt_u64 r8 __asm__("r8") = e;
	register dt_u64 r9 __asm__("r9") = f;
	dt_s64 result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(no), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8),
			   "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

#endif
