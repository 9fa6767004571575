/* SPDX-License-Identifier: MIT */
/*
 * Fires the probes of a site that a thread has reached, on the shard that
 * dt_rt_enter has taken.
 *
 * This code runs on the shard's stack, and interrupts the target at any
 * instruction. So it uses no libc, no thread-local storage and no vector
 * register. It waits only for the agent's replies to upcalls.
 */
#include "ptrace-agent/runtime/host.h"

/*
 * GCC does not know that enter.S calls dt_rt_fire(). All other functions are
 * called only inside this translation unit.
 */
#ifdef __clang__
#define DT_RT_OUTSIDE __attribute__((used))
#else
#define DT_RT_OUTSIDE __attribute__((used, externally_visible))
#endif
/* Returns the value that enter.S stores in the lock of the shard. */
DT_RT_OUTSIDE dt_u32 dt_rt_fire(struct dt_rt_frame *frame);

/* Returns whether a jcc with these low four bits in its opcode is taken. */
static int dt_rt_is_taken(dt_u32 condition, dt_u64 flags)
{
	dt_u64 carry = flags & 1, parity = flags >> 2 & 1;
	dt_u64 zero = flags >> 6 & 1, sign = flags >> 7 & 1;
	dt_u64 over = flags >> 11 & 1, less = sign ^ over;
	dt_u64 holds[] = {over, carry,	zero, carry | zero,
			  sign, parity, less, zero | less};

	return (int)(holds[condition >> 1 & 7] ^ (condition & 1));
}

/*
 * Fires one probe. An entry probe has its arguments in registers (System V
 * AMD64 ABI, 3.2.3). The arguments of a return probe are the offset and the
 * return value.
 */
static void dt_rt_fire_one(struct dt_rt_run *run,
			   const struct dt_rt_firing *firing)
{
	const struct dt_rt_frame *f = run->frame;
	dt_u64 args[6];

	run->firing = firing;
	if (DT_UNLIKELY(firing->kind >= DT_RT_LIBRARIES)) {
		if (firing->kind == DT_RT_LIBRARIES) {
			dt_rt_ask(run, DT_RT_UP_LIBRARIES, 0, 0, 0, &args[0]);
			return;
		}
		if (firing->kind == DT_RT_TRACER) {
			if (dt_rt_prepares_tracer(firing->arg0, f->rdi, f->rsi))
				dt_rt_ask(run, DT_RT_UP_TRACER, firing->arg0,
					  f->rsi, 0, &args[0]);
			return;
		}
		if (!dt_rt_jumps_out(run, &args[0]))
			return;
		args[1] = f->rax;
		dt_fire_held(&run->host, firing->probe, run->site->from, args,
			     2);
		return;
	}
	if (firing->kind == DT_RT_RETURN) {
		if (DT_UNLIKELY(run->site->taken) &&
		    !dt_rt_is_taken(run->site->taken, f->rflags))
			return;
		args[0] = firing->arg0;
		args[1] = f->rax;
		dt_fire_held(&run->host, firing->probe, run->site->from, args,
			     2);
		return;
	}
	if (firing->kind == DT_RT_STATIC) {
		/* dt_rt_static_arg() reads the arguments. */
		dt_fire_held(&run->host, firing->probe, run->site->from, args,
			     0);
		return;
	}
	args[0] = f->rdi;
	args[1] = f->rsi;
	args[2] = f->rdx;
	args[3] = f->rcx;
	args[4] = f->r8;
	args[5] = f->r9;
	dt_fire_held(&run->host, firing->probe, run->site->from, args, 6);
}

__attribute__((aligned(64))) dt_u32 dt_rt_fire(struct dt_rt_frame *frame)
{
	const struct dt_rt_config *config = &dt_rt_config;
	const struct dt_rt_site *site = &config->sites[frame->site];
	/*
	 * The agent may be replacing first_firing and n_firings, so one access
	 * reads both.
	 */
	dt_u64 both =
	    dt_once64((const dt_u64 *)(const void *)&site->first_firing);
	const struct dt_rt_firing *firing = &config->firings[(dt_u32)both];
	struct dt_rt_notes *notes = (struct dt_rt_notes *)(frame + 1);
	struct dt_rt_run run;

	if (DT_UNLIKELY(notes->ready != (dt_u64)config))
		dt_rt_notes_fill(notes);
	/*
	 * Sets all members, because the stack contains arbitrary values. For an
	 * initializer, GCC emits rep stos, which takes about 10 ns.
	 */
	run.host.ops = &notes->ops;
	run.host.arena = (void *)config->sessions[site->session].arena;
	run.host.cpu = frame->cpu;
	run.host.shard = frame->shard;
	run.host.owner = config->pid;
	run.host.has_target = 1;
	run.host.own_shards = 0;
	run.host.shard_tries = 0;
	run.host.fills = 0;
	run.host.thread_key = 0; /* dt_rt_identify() sets it when it is needed */
	run.host.self = DT_NULL;
	run.host.budget_ns = 0;
	run.host.spent_ns = 0;
	run.frame = frame;
	run.site = site;
	run.notes = notes;
	for (dt_u32 n = (dt_u32)(both >> 32); n; n--)
		dt_rt_fire_one(&run, firing++);
	return DT_UNLIKELY(run.host.fills) ?
		       dt_shard_idle(run.host.arena, frame->shard,
				     (const struct dt_shard *)frame->lock) :
		       0;
}
