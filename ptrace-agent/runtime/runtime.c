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
 * Notes the number of a system call that a thread is about to make. If there is no
 * free entry, the return probe does not fire.
 */
static void dt_rt_note_call(struct dt_rt_run *run, dt_u64 number)
{
	struct dt_rt_call *calls = dt_rt_calls();
	const dt_u64 key = dt_rt_call_key(run->frame->rsp, run->site->at,
					  run->site->session);
	const dt_u32 first = dt_rt_call_slot(key);

	for (dt_u32 i = 0; i < DT_RT_CALL_REACH; i++) {
		struct dt_rt_call *call =
		    &calls[(first + i) & (DT_RT_MAX_CALLS - 1)];
		dt_u64 none = 0;

		/*
		 * The thread has left an earlier call with this key by longjmp(3),
		 * or the entry is free.
		 */
		if (dt_once64(&call->key) == key ||
		    __atomic_compare_exchange_n(&call->key, &none, key, 0,
						__ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED)) {
			__atomic_store_n(&call->number, number, __ATOMIC_RELAXED);
			return;
		}
	}
}

/*
 * Returns the number of the system call from which the thread returns, and frees its
 * entry if `take` is not 0. Returns DT_RT_SYSCALLS if the number is unknown.
 */
static dt_u64 dt_rt_noted_call(struct dt_rt_run *run, int take)
{
	struct dt_rt_call *calls = dt_rt_calls();
	const dt_u64 key = dt_rt_call_key(run->frame->rsp, run->site->at - 2,
					  run->site->session);
	const dt_u32 first = dt_rt_call_slot(key);

	for (dt_u32 i = 0; i < DT_RT_CALL_REACH; i++) {
		struct dt_rt_call *call =
		    &calls[(first + i) & (DT_RT_MAX_CALLS - 1)];
		dt_u64 number;

		if (dt_once64(&call->key) != key)
			continue;
		number = dt_once64(&call->number);
		if (take)
			__atomic_store_n(&call->key, 0, __ATOMIC_RELEASE);
		return number < DT_RT_SYSCALLS ? number : DT_RT_SYSCALLS;
	}
	return DT_RT_SYSCALLS;
}

/* Fires a probe of the proc provider. */
static void dt_rt_fire_task_call(struct dt_rt_run *run,
				 const struct dt_rt_firing *firing)
{
	const struct dt_rt_frame *f = run->frame;
	const dt_u64 in[] = {f->rdi, f->rsi, f->rdx};
	dt_u64 number = (dt_u32)firing->arg0, args[3];
	dt_u32 n;

	if (firing->arg0 & DT_RT_ANY_CALL)
		number = firing->kind == DT_RT_SYSCALL ?
				 (dt_u32)f->rax :
				 dt_rt_noted_call(run, 0);
	n = dt_rt_task_args(dt_rt_task_call_of(firing->arg0), number, in, f->rax,
			    args);
	if (n)
		dt_fire_held(&run->host, firing->probe, run->site->from, args,
			     n);
}

/* Fires a probe of a system call. */
static void dt_rt_fire_call(struct dt_rt_run *run,
			    const struct dt_rt_firing *firing)
{
	const struct dt_rt_frame *f = run->frame;
	const dt_u32 sys_rt_sigreturn = 15, sys_exit = 60, sys_exit_group = 231;
	dt_u64 args[6];

	if (firing->kind == DT_RT_NEW_TEXT) {
		if (dt_rt_is_new_text(f->rdx, f->r10, f->rax))
			dt_rt_ask(run, DT_RT_UP_LIBRARIES, 1, 0, 0, &args[0]);
		return;
	}
	if (firing->kind == DT_RT_ANY_SYSCALL) {
		const dt_u32 number = (dt_u32)f->rax;

		if (number >= DT_RT_SYSCALLS)
			return;
		if (number != sys_exit && number != sys_exit_group &&
		    number != sys_rt_sigreturn)
			dt_rt_note_call(run, number);
		firing = &dt_rt_config.firings[firing->arg0 + number];
	} else if (firing->kind == DT_RT_ANY_SYSCALL_RETURN) {
		const dt_u64 number = dt_rt_noted_call(run, 1);

		if (number >= DT_RT_SYSCALLS)
			return;
		firing = &dt_rt_config.firings[firing->arg0 + number];
	}
	if (!firing->probe)
		return;
	run->firing = firing;
	if ((firing->arg0 & DT_RT_CHECK_RETURN) && !dt_rt_config.keeps_rcx &&
	    f->rcx != run->site->at)
		return;
	if (dt_rt_task_call_of(firing->arg0)) {
		dt_rt_fire_task_call(run, firing);
		return;
	}
	if (firing->kind == DT_RT_SYSCALL_RETURN) {
		args[0] = dt_rt_errno_of(f->rax) ? ~0ull : f->rax;
		args[1] = args[0];
		dt_fire_held(&run->host, firing->probe, run->site->from, args,
			     2);
		return;
	}
	args[0] = f->rdi;
	args[1] = f->rsi;
	args[2] = f->rdx;
	args[3] = f->r10;
	args[4] = f->r8;
	args[5] = f->r9;
	dt_fire_held(&run->host, firing->probe, run->site->from, args, 6);
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
		if (firing->kind >= DT_RT_SYSCALL) {
			dt_rt_fire_call(run, firing);
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
