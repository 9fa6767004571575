// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Implements the proc probes, which fire for events of processes and threads.
 */
#include "kmod/consumer.h"
#include "abi/stable.h"

#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/signal.h>

#include <asm/syscall.h>
#include <asm/unistd.h>
#include <trace/events/signal.h>

/* @in: arguments of the tracepoint sched_process_fork(parent, child) */
int dt_choose_proc_create(const u64 *in, u64 *out)
{
	const struct task_struct *child = (void *)in[1];

	out[0] = in[1];
	return child->pid == child->tgid ? 1 : -1;
}

int dt_choose_proc_lwp_create(const u64 *in, u64 *out)
{
	out[0] = out[1] = in[1];
	return 2;
}

static bool dt_is_exec(long number)
{
	return !in_ia32_syscall() && (number == __NR_execve || number == __NR_execveat);
}

/* @in: arguments of the tracepoint sys_enter(regs, number) */
int dt_choose_proc_exec(const u64 *in, u64 *out)
{
	const struct pt_regs *regs = (void *)in[0];

	if (!dt_is_exec((long)in[1]))
		return -1;
	out[0] = in[1] == __NR_execve ? regs->di : regs->si;
	return 1;
}

/* @in: arguments of the tracepoint sys_exit(regs, result) */
int dt_choose_proc_exec_failure(const u64 *in, u64 *out)
{
	long result = (long)in[1];

	if (result >= 0 || !dt_is_exec(syscall_get_nr(current, (void *)in[0])))
		return -1;
	out[0] = (u64)dt_errno_of(result);
	return 1;
}

/*
 * Returns whether a tracer may hold the process at PTRACE_EVENT_EXEC. While the
 * process is held there, dtrace may enable probes (-x evaltime=exec). The
 * tracepoint sched_process_exec has already fired by then. So for such a
 * process, exec-success fires later, at proc_exec_connector().
 */
static bool dt_is_held_at_exec(void)
{
	return current->ptrace & PT_EVENT_FLAG(PTRACE_EVENT_EXEC);
}

int dt_choose_proc_exec_success(const u64 *in, u64 *out)
{
	return dt_is_held_at_exec() ? -1 : 0;
}

int dt_choose_proc_exec_success_later(const u64 *in, u64 *out)
{
	return dt_is_held_at_exec() ? 0 : -1;
}

int dt_choose_proc_signal_clear(const u64 *in, u64 *out)
{
	long result = (long)in[1];

	if (result <= 0 || in_ia32_syscall() ||
	    syscall_get_nr(current, (void *)in[0]) != __NR_rt_sigtimedwait)
		return -1;
	out[0] = (u64)result;
	return 1;
}

/*
 * @in: arguments of the tracepoint sched_process_exit(task). Fires for the last
 * thread of a process. arg0 is the reason why the process ended.
 */
int dt_choose_proc_exit(const u64 *in, u64 *out)
{
	const struct task_struct *task = (void *)in[0];
	int code;

	if (atomic_read(&task->signal->live))
		return -1;
	code = task->signal->flags & SIGNAL_GROUP_EXIT ? task->signal->group_exit_code
						       : task->exit_code;
	out[0] = code & 0x80 ? CLD_DUMPED : code & 0x7f ? CLD_KILLED : CLD_EXITED;
	return 1;
}

int dt_choose_proc_start(const u64 *in, u64 *out)
{
	return thread_group_leader(current) ? 0 : -1;
}

/*
 * @in: arguments of the tracepoint signal_generate(sig, info, task, group,
 * result)
 */
int dt_choose_proc_signal_send(const u64 *in, u64 *out)
{
	out[0] = out[1] = in[2];
	out[2] = (u64)(int)in[0];
	return 3;
}

int dt_choose_proc_signal_discard(const u64 *in, u64 *out)
{
	return (int)in[4] == TRACE_SIGNAL_IGNORED ? dt_choose_proc_signal_send(in, out) : -1;
}

/*
 * Returns the number that illumos's <sys/fault.h> defines for the fault that
 * caused a signal. Returns 0 if no fault caused the signal.
 */
static int dt_fault_of(int sig, int code)
{
	switch (sig) {
	case SIGILL:
		return 1; /* FLTILL */
	case SIGTRAP:
		return code == TRAP_TRACE ? 4 : 3; /* FLTTRACE, FLTBPT */
	case SIGBUS:
		return 5; /* FLTACCESS */
	case SIGSEGV:
		return 6; /* FLTBOUNDS */
	case SIGFPE:
		/* FLTIZDIV, FLTIOVF, FLTFPE */
		return code == FPE_INTDIV ? 8 : code == FPE_INTOVF ? 7 : 9;
	default:
		return 0;
	}
}

/* Fires for a signal that an instruction of the thread caused. */
int dt_choose_proc_fault(const u64 *in, u64 *out)
{
	const struct kernel_siginfo *info = (void *)in[1];
	int fault;

	if ((u64)info <= (u64)SEND_SIG_PRIV || info->si_code <= 0)
		return -1;
	fault = dt_fault_of((int)in[0], info->si_code);
	out[0] = (u64)fault;
	out[1] = in[1];
	return fault ? 2 : -1;
}

/*
 * Called when the current thread receives a SIGKILL. Returns the signal that
 * ends the process, which may be SIGKILL itself. Returns 0 if no signal ends
 * the process, if the signal has already been delivered, or if the thread is
 * not the first of its process.
 *
 * If a signal ends a process without a core dump, the kernel does not deliver
 * the signal. It stores the signal in group_exit_code and sends SIGKILL to
 * every thread.
 */
static int dt_fatal_signal(void)
{
	const struct signal_struct *group = current->signal;
	int sig = group->group_exit_code & 0x7f;

	if (!(group->flags & SIGNAL_GROUP_EXIT) || !thread_group_leader(current))
		return 0;
	if (sig != SIGKILL && (current->ptrace || sig_kernel_coredump(sig)))
		return 0;
	return sig;
}

#define DT_SIGNAL_ARGS 3
static_assert(sizeof(struct kernel_siginfo) <= 8 * (DT_STABLE_ARGS - DT_SIGNAL_ARGS));

/*
 * @in: arguments of the tracepoint signal_deliver(sig, info, action). arg2 of
 * the probe is the handler, or 0 (SIG_DFL) for the default action.
 */
int dt_choose_proc_signal_handle(const u64 *in, u64 *out)
{
	const struct k_sigaction *action = (void *)in[2];
	struct kernel_siginfo *unknown = (void *)(out + DT_SIGNAL_ARGS);
	bool is_default = action->sa.sa_handler == SIG_DFL;
	int sig = (int)in[0];

	if (action->sa.sa_handler == SIG_IGN || (is_default && sig_kernel_ignore(sig)))
		return -1;
	out[1] = in[1];
	if (sig == SIGKILL) {
		sig = dt_fatal_signal();
		if (!sig)
			return -1;
		/* The kernel does not record the original signal's sender. */
		clear_siginfo(unknown);
		unknown->si_signo = sig;
		out[1] = (u64)unknown;
	}
	out[0] = (u64)sig;
	out[2] = (u64)action->sa.sa_handler;
	return DT_SIGNAL_ARGS;
}
