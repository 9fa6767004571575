/* SPDX-License-Identifier: MIT */
/*
 * The runtime as a host of the engine: its table of operations, and the
 * identity of the thread that fires. The table is filled in at run time (struct
 * dt_rt_notes), because the image is not relocated.
 */
#include "dif/float.h"
#include "ptrace-agent/runtime/host.h"

#define DT_ARCH_GET_FS 0x1003

static int dt_rt_arg(struct dt_host *host, dt_u32 n, dt_u64 *value, dt_u64 *bad)
{
	struct dt_rt_run *run = dt_rt_run_of(host);

	*value = 0;
	if (run->firing->kind == DT_RT_STATIC)
		return dt_rt_static_arg(run, n, value, bad);
	/*
	 * arg6 and later arguments are on the stack, above the return address.
	 */
	if (run->firing->kind != DT_RT_RETURN &&
	    run->firing->kind < DT_RT_JUMP_OUT && n >= 6 &&
	    dt_rt_load(host, run->frame->rsp + 8 * (n - 5), value, 8, bad) != 0)
		*value = 0;
	return 0;
}

void dt_rt_notes_fill(struct dt_rt_notes *notes)
{
	struct dt_host_ops *ops = &notes->ops;

	notes->range = notes->thread = 0;
	ops->timestamp = dt_rt_timestamp;
	ops->walltime = dt_rt_walltime;
	ops->vtimestamp = dt_rt_vtimestamp;
	ops->load = dt_rt_load;
	ops->load_string = dt_rt_load_string;
	ops->store = dt_rt_store;
	ops->arg = dt_rt_arg;
	ops->var = dt_rt_var;
	ops->var_string = dt_rt_var_string;
	ops->ustack = dt_rt_ustack;
	ops->progenyof = dt_rt_progenyof;
	ops->raise = dt_rt_raise;
	ops->stop = dt_rt_stop;
	ops->flop = dt_flop;
	ops->identify = dt_rt_identify;
	notes->ready = (dt_u64)&dt_rt_config;
}

int dt_rt_fs_base(struct dt_rt_run *run, dt_u64 *value)
{
	(void)run;
	if (DT_LIKELY(dt_rt_config.fs_method == DT_RT_FS_RDFSBASE)) {
		__asm__ volatile("rdfsbase %0" : "=r"(*value));
		return 0;
	}
	if (dt_rt_config.may_call &&
	    dt_rt_syscall(DT_SYS_arch_prctl, DT_ARCH_GET_FS, (dt_u64)value, 0,
			  0, 0, 0) == 0)
		return 0;
	return -1;
}

/*
 * Returns the entry for this fs_base in the agent's table of threads, or null.
 * *hint is the index of the entry that was found last. It is tried first.
 */
static const struct dt_rt_thread *dt_rt_thread_find(dt_u64 fs_base,
						    dt_u32 *hint)
{
	const struct dt_rt_thread *threads = dt_rt_config.threads;
	dt_u32 at = *hint & (DT_RT_MAX_THREADS - 1);

	if (DT_LIKELY(dt_once64(&threads[at].fs_base) == fs_base))
		return &threads[at];
	at = dt_rt_thread_slot(fs_base);
	for (dt_u32 i = 0; i < DT_RT_MAX_THREADS; i++) {
		const struct dt_rt_thread *t = &threads[at];
		dt_u64 key = dt_once64(&t->fs_base);

		if (key == fs_base) {
			*hint = at;
			return t;
		}
		if (!key)
			return DT_NULL;
		at = (at + 1) & (DT_RT_MAX_THREADS - 1);
	}
	return DT_NULL;
}

/* Returns the entry for the gs key of this thread, or null. */
static const struct dt_rt_thread *dt_rt_find_by_gs(dt_u32 *hint)
{
	dt_u64 gs_base;

	if (dt_rt_config.fs_method != DT_RT_FS_RDFSBASE)
		return DT_NULL;
	__asm__ volatile("rdgsbase %0" : "=r"(gs_base));
	return dt_rt_is_gs_key(gs_base) ? dt_rt_thread_find(gs_base, hint)
					: DT_NULL;
}

void dt_rt_identify(struct dt_host *host)
{
	struct dt_rt_run *run = dt_rt_run_of(host);
	const struct dt_rt_thread *t = DT_NULL;
	dt_u64 fs_base = 0, key = 0;
	dt_u32 pid = dt_rt_config.pid, tid;

	if (dt_rt_fs_base(run, &fs_base) == 0 && fs_base)
		t = dt_rt_thread_find(fs_base, &run->notes->thread);
	if (DT_UNLIKELY(t == DT_NULL))
		t = dt_rt_find_by_gs(&run->notes->thread);
	if (DT_LIKELY(t != DT_NULL)) {
		tid = t->tid;
		pid = t->pid;
	} else if (dt_rt_config.may_call &&
		   (dt_u32)dt_rt_syscall(DT_SYS_getpid, 0, 0, 0, 0, 0, 0) ==
		       pid) {
		/*
		 * This is not a vfork child, and the agent is in the pid
		 * namespace of this process. So gettid() returns the tid that
		 * the agent uses.
		 */
		tid = (dt_u32)dt_rt_syscall(DT_SYS_gettid, 0, 0, 0, 0, 0, 0);
	} else if (dt_rt_ask(run, DT_RT_UP_TID, fs_base, 0, 0, &key) == 0) {
		tid = (dt_u32)key;
		pid = (dt_u32)(key >> 32);
	} else {
		tid = pid;
	}
	host->owner = tid;
	host->thread_key = (dt_u64)pid << 32 | tid;
}
