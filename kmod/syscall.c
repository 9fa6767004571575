// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Implements the syscall provider for all system calls of 64-bit programs. It
 * uses the tracepoints sys_enter and sys_exit.
 *
 * The arguments of the entry probe are the six arguments of the system call.
 * arg0 and arg1 of the return probe are both the value that a C program
 * receives, which is -1 after an error. If the call is restarted because of a
 * signal, errno is EINTR. System calls of 32-bit programs have different
 * numbers, so they fire no probes.
 */
#include "kmod/consumer.h"

#include <linux/errno.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/tracepoint.h>

#include <asm/syscall.h>
#include <asm/unistd.h>

#define DT_SYSCALLS 1024 /* more system calls than any kernel has */

struct dt_syscalls {
	struct tracepoint *enter, *exit; /* null: not registered */
	u32 entry[DT_SYSCALLS], ret[DT_SYSCALLS]; /* probe ids */
};

static u32 dt_probe_of(const u32 *probes, long number)
{
	if (in_ia32_syscall() || number < 0 || number >= DT_SYSCALLS)
		return 0;
	return READ_ONCE(probes[number]);
}

static void dt_sys_enter(void *data, struct pt_regs *regs, long number)
{
	struct dt_consumer *c = data;
	u32 probe = dt_probe_of(c->syscalls->entry, number);
	struct dt_context x = {};
	u64 args[6];

	if (!probe)
		return;
	args[0] = regs->di;
	args[1] = regs->si;
	args[2] = regs->dx;
	args[3] = regs->r10;
	args[4] = regs->r8;
	args[5] = regs->r9;
	dt_kfire(c, &x, probe, args, 6);
}

int dt_errno_of(long result)
{
	switch (-result) {
	case ERESTARTSYS:
	case ERESTARTNOINTR:
	case ERESTARTNOHAND:
	case ERESTART_RESTARTBLOCK:
		return EINTR;
	default:
		return (int)-result;
	}
}

static void dt_sys_exit(void *data, struct pt_regs *regs, long result)
{
	struct dt_consumer *c = data;
	u32 probe = dt_probe_of(c->syscalls->ret, syscall_get_nr(current, regs));
	struct dt_context x = {};
	u64 args[2];

	if (!probe)
		return;
	if (IS_ERR_VALUE((unsigned long)result)) {
		x.error = dt_errno_of(result);
		result = -1;
	}
	args[0] = (u64)result;
	args[1] = (u64)result;
	dt_kfire(c, &x, probe, args, 2);
}

static int dt_register(struct dt_consumer *c, const char *name, void *func,
		       struct tracepoint **registered)
{
	struct tracepoint *tp;
	int error;

	if (*registered)
		return 0;
	tp = dt_tracepoint_find(name);
	if (!tp)
		return -ENOENT;
	error = tracepoint_probe_register(tp, func, c);
	if (!error)
		*registered = tp;
	return error;
}

int dt_syscall_attach(struct dt_consumer *c, const struct dtk_site *site)
{
	struct dt_syscalls *s;

	if (site->where >= DT_SYSCALLS)
		return -EINVAL;
	if (!c->syscalls)
		c->syscalls = dt_make(c, sizeof(*c->syscalls));
	s = c->syscalls;
	if (!s)
		return -ENOMEM;
	if (site->kind == DTK_SYSCALL_ENTRY) {
		WRITE_ONCE(s->entry[site->where], site->probe);
		return dt_register(c, "sys_enter", dt_sys_enter, &s->enter);
	}
	WRITE_ONCE(s->ret[site->where], site->probe);
	return dt_register(c, "sys_exit", dt_sys_exit, &s->exit);
}

void dt_syscall_detach(struct dt_consumer *c)
{
	struct dt_syscalls *s = c->syscalls;

	if (!s)
		return;
	if (s->enter)
		tracepoint_probe_unregister(s->enter, dt_sys_enter, c);
	if (s->exit)
		tracepoint_probe_unregister(s->exit, dt_sys_exit, c);
	tracepoint_synchronize_unregister();
	dt_free(c, s, sizeof(*s));
	c->syscalls = NULL;
}
