/* SPDX-License-Identifier: MIT */
/*
 * Computes builtin variables inside the target, and sends signals to the thread
 * that fires the probe. The agent supplies other values, for example those in
 * /proc.
 */
#include "ptrace-agent/runtime/host.h"

#include "dif/vars.h"
#include "ptrace-agent/runtime/uregs.h"

#define DT_SIGSTOP 19
#define DT_ARCH_GET_GS 0x1004

int dt_rt_gs_base(dt_u64 *value)
{
	if (DT_LIKELY(dt_rt_config.fs_method == DT_RT_FS_RDFSBASE)) {
		__asm__ volatile("rdgsbase %0" : "=r"(*value));
		return 0;
	}
	if (dt_rt_config.may_call &&
	    dt_rt_syscall(DT_SYS_arch_prctl, DT_ARCH_GET_GS, (dt_u64)value, 0,
			  0, 0, 0) == 0)
		return 0;
	return -1;
}

#define STATE_rip(run, value) (*(value) = (run)->site->at, 0)
#define STATE_rflags(run, value) (*(value) = (run)->frame->rflags, 0)
#define STATE_fs_base(run, value) dt_rt_fs_base(run, value)
#define STATE_gs_base(run, value) dt_rt_gs_base(value)

/*
 * Reads a register. Returns -1 if there is no such register, or if only the
 * agent can read it.
 */
static int dt_rt_ureg(struct dt_rt_run *run, dt_u32 index, dt_u64 *value)
{
	switch (index) {
#define GPR(name, number, reg)                                                 \
	case number:                                                           \
		*value = run->frame->reg;                                      \
		return 0;
#define STATE(name, number, what)                                              \
	case number:                                                           \
		return STATE_##what(run, value);
#define CONST(name, number, constant)                                          \
	case number:                                                           \
		*value = (constant);                                           \
		return 0;
		AGENT_UREGS(GPR, STATE, CONST)
#undef GPR
#undef STATE
#undef CONST
	default:
		return -1;
	}
}

/*
 * Reads the program's errno at the offset from fs_base that the agent found, or
 * asks the agent if the offset or fs_base is unknown.
 */
static int dt_rt_errno(struct dt_rt_run *run, dt_u64 *value)
{
	dt_u64 fs_base, bad;
	dt_s32 number = 0;

	if (run->firing->kind >= DT_RT_SYSCALL) {
		*value = run->firing->kind == DT_RT_SYSCALL ?
				 0 :
				 dt_rt_errno_of(run->frame->rax);
		return 0;
	}
	if (!dt_rt_config.errno_known || dt_rt_fs_base(run, &fs_base) != 0)
		return dt_rt_ask(run, DT_RT_UP_VAR, DIF_VAR_errno, 0, 0, value);
	if (dt_rt_load(&run->host, fs_base + (dt_u64)dt_rt_config.errno_offset,
		       &number, sizeof(number), &bad) != 0)
		return -1;
	*value = (dt_u64)(dt_s64)number;
	return 0;
}

static dt_u64 dt_rt_key(struct dt_host *host)
{
	if (!host->thread_key)
		dt_rt_identify(host);
	return host->thread_key;
}

int dt_rt_var(struct dt_host *host, dt_u32 id, dt_u32 index, dt_u64 *value)
{
	struct dt_rt_run *run = dt_rt_run_of(host);

	switch (id) {
	case DIF_VAR_uregs:
		if (dt_rt_ureg(run, index, value) == 0)
			return 0;
		if (index >= DIF_UREGS_AMD64_N)
			return -1;
		return dt_rt_ask(run, DT_RT_UP_VAR, id, index, 0, value);
	case DIF_VAR_pid:
		*value = dt_rt_key(host) >> 32;
		return 0;
	case DIF_VAR_tid:
		*value = (dt_u32)dt_rt_key(host);
		return 0;
	case DIF_VAR_ppid:
		*value = dt_rt_config.ppid;
		return 0;
	case DIF_VAR_uid: /* uid and gid are the effective ids */
	case DIF_VAR_pr_euid:
		*value = dt_rt_config.uid;
		return 0;
	case DIF_VAR_gid:
	case DIF_VAR_pr_egid:
		*value = dt_rt_config.gid;
		return 0;
	case DIF_VAR_errno:
		return dt_rt_errno(run, value);
	case DIF_VAR_ipl: /* Linux has no interrupt levels and no jails */
	case DIF_VAR_jid:
		*value = 0;
		return 0;
	default:
		return dt_rt_ask(run, DT_RT_UP_VAR, id, index, 0, value);
	}
}

dt_u64 dt_rt_var_string(struct dt_host *host, dt_u32 id, dt_u32 index, char *to,
			dt_u64 max)
{
	dt_u64 n = 0;

	if (id == DIF_VAR_execname) {
		n = dt_strnlen(dt_rt_config.execname,
			       sizeof(dt_rt_config.execname));
		if (n > max)
			n = max;
		dt_copy(to, dt_rt_config.execname, n);
		return n;
	}
	if (dt_rt_ask(dt_rt_run_of(host), DT_RT_UP_VAR_STRING,
		      (dt_u64)index << 32 | id, (dt_u64)to, max, &n) != 0)
		return 0;
	return n < max ? n : max;
}

int dt_rt_progenyof(struct dt_host *host, dt_u64 pid)
{
	dt_u64 yes = 0;

	return dt_rt_ask(dt_rt_run_of(host), DT_RT_UP_PROGENYOF, pid, 0, 0,
			 &yes) == 0 &&
	       yes;
}

/*
 * Sends a signal to this thread. The agent intercepts the signal, and delivers
 * it after the thread has left the runtime. Returns 0, or -1 if tgkill(2)
 * fails.
 */
static int dt_rt_signal(dt_u64 sig)
{
	dt_u64 pid = (dt_u64)dt_rt_syscall(DT_SYS_getpid, 0, 0, 0, 0, 0, 0);
	dt_u64 tid = (dt_u64)dt_rt_syscall(DT_SYS_gettid, 0, 0, 0, 0, 0, 0);

	return dt_rt_syscall(DT_SYS_tgkill, pid, tid, sig, 0, 0, 0) == 0 ? 0
									 : -1;
}

int dt_rt_raise(struct dt_host *host, int sig)
{
	dt_u64 value;

	if (dt_rt_config.may_call)
		return dt_rt_signal((dt_u64)sig);
	return dt_rt_ask(dt_rt_run_of(host), DT_RT_UP_RAISE, (dt_u64)sig, 0, 0,
			 &value);
}

int dt_rt_stop(struct dt_host *host)
{
	dt_u64 value;

	if (dt_rt_config.may_call)
		return dt_rt_signal(DT_SIGSTOP);
	return dt_rt_ask(dt_rt_run_of(host), DT_RT_UP_STOP, 0, 0, 0, &value);
}
