// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Implements the sysinfo probes, which fire when a statistic of the system
 * increases. arg0 is the increment. The system calls of 32-bit programs are
 * counted only by sysfork and sysvfork.
 */
#include "abi/stable.h"
#include "kmod/waits.h"

#include <linux/bio.h>
#include <linux/cpumask.h>
#include <linux/namei.h>
#include <linux/sched.h>
#include <linux/sched/task.h>

#include <asm/syscall.h>
#include <asm/unistd.h>

static int dt_if(bool fires, u64 *out)
{
	out[0] = 1;
	return fires ? 1 : -1;
}

int dt_choose_sys_one(const u64 *in, u64 *out)
{
	return dt_if(true, out);
}

/*
 * @in: arguments of the tracepoint sched_switch(preempted, prev, next,
 * prev_state), which fires in the task prev
 */
int dt_choose_sys_inv_swtch(const u64 *in, u64 *out)
{
	return dt_if(((u8)in[0] || !(u32)in[3]) && !is_idle_task(current), out);
}

int dt_choose_sys_idlethread(const u64 *in, u64 *out)
{
	return dt_if(is_idle_task((void *)in[2]), out);
}

static bool dt_reads(long number)
{
	return number == __NR_read || number == __NR_pread64 || number == __NR_readv ||
	       number == __NR_preadv || number == __NR_preadv2;
}

static bool dt_writes(long number)
{
	return number == __NR_write || number == __NR_pwrite64 || number == __NR_writev ||
	       number == __NR_pwritev || number == __NR_pwritev2;
}

/* @in: arguments of the tracepoint sys_enter(regs, number) */
int dt_choose_sys_read(const u64 *in, u64 *out)
{
	return dt_if(!in_ia32_syscall() && dt_reads((long)in[1]), out);
}

int dt_choose_sys_write(const u64 *in, u64 *out)
{
	return dt_if(!in_ia32_syscall() && dt_writes((long)in[1]), out);
}

int dt_choose_sys_exec(const u64 *in, u64 *out)
{
	long number = (long)in[1];

	return dt_if(!in_ia32_syscall() && (number == __NR_execve || number == __NR_execveat),
		     out);
}

int dt_choose_sys_sema(const u64 *in, u64 *out)
{
	long number = (long)in[1];

	return dt_if(!in_ia32_syscall() && (number == __NR_semop || number == __NR_semtimedop),
		     out);
}

int dt_choose_sys_msg(const u64 *in, u64 *out)
{
	long number = (long)in[1];

	return dt_if(!in_ia32_syscall() && (number == __NR_msgsnd || number == __NR_msgrcv),
		     out);
}

/* @in: arguments of the tracepoint sys_exit(regs, result) */
static int dt_moved(const u64 *in, bool does(long number), u64 *out)
{
	long result = (long)in[1];

	if (result <= 0 || in_ia32_syscall() ||
	    !does(syscall_get_nr(current, (struct pt_regs *)in[0])))
		return -1;
	out[0] = (u64)result;
	return 1;
}

int dt_choose_sys_readch(const u64 *in, u64 *out)
{
	return dt_moved(in, dt_reads, out);
}

int dt_choose_sys_writech(const u64 *in, u64 *out)
{
	return dt_moved(in, dt_writes, out);
}

/*
 * Returns whether kernel_clone(args) creates a process for a system call, not a
 * thread or a kernel thread.
 */
static bool dt_forks(const struct kernel_clone_args *args)
{
	return !(args->flags & CLONE_THREAD) && !args->fn;
}

int dt_choose_sys_fork(const u64 *in, u64 *out)
{
	const struct kernel_clone_args *args = (void *)in[0];

	return dt_if(dt_forks(args) && !(args->flags & CLONE_VFORK), out);
}

int dt_choose_sys_vfork(const u64 *in, u64 *out)
{
	const struct kernel_clone_args *args = (void *)in[0];

	return dt_if(dt_forks(args) && args->flags & CLONE_VFORK, out);
}

/*
 * @in: arguments of path_parentat(lookup, flags, parent). Fires for the first
 * attempt, which uses RCU, but not for retries.
 */
int dt_choose_sys_namei_parent(const u64 *in, u64 *out)
{
	return dt_if(in[1] & LOOKUP_RCU, out);
}

/* @in: arguments of native_send_call_func_ipi(mask) */
int dt_choose_sys_xcalls(const u64 *in, u64 *out)
{
	out[0] = cpumask_weight((void *)in[0]);
	return 1;
}

/* @in: arguments of the tracepoint block_bio_queue(bio) */
int dt_choose_sys_bread(const u64 *in, u64 *out)
{
	return dt_if(bio_op((struct bio *)in[0]) == REQ_OP_READ, out);
}

int dt_choose_sys_bwrite(const u64 *in, u64 *out)
{
	return dt_if(bio_op((struct bio *)in[0]) == REQ_OP_WRITE, out);
}

/* @in: arguments of the tracepoint contention_end(lock, result) */
static u32 dt_waited_as(const u64 *in)
{
	const struct dt_wait *wait = dt_wait_of(in[0]);

	return wait ? wait->flags : 0;
}

int dt_choose_sys_mutex_adenters(const u64 *in, u64 *out)
{
	return dt_if(dt_waited_as(in) & LCB_F_MUTEX, out);
}

static bool dt_blocks(u32 flags, u32 how)
{
	return (flags & (LCB_F_SPIN | LCB_F_PERCPU | how)) == how;
}

int dt_choose_sys_rw_rdfails(const u64 *in, u64 *out)
{
	return dt_if(dt_blocks(dt_waited_as(in), LCB_F_READ), out);
}

int dt_choose_sys_rw_wrfails(const u64 *in, u64 *out)
{
	return dt_if(dt_blocks(dt_waited_as(in), LCB_F_WRITE), out);
}
