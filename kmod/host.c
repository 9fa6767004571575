// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The engine's host in the kernel: memory, time, and data about the current
 * task.
 *
 * An address below TASK_SIZE_MAX belongs to the current process. Any other
 * address belongs to the kernel. Both kinds of memory are copied without
 * waiting. Reading a page that is not in memory is a fault, unless the probe
 * may wait (dt_fault_in()). Reading uncached kernel memory is also a fault,
 * because it may be a device's registers.
 */
#include "kmod/consumer.h"

#include "dif/actions.h"
#include "dif/subrs.h"
#include "dif/vars.h"
#include "kmod/ask_lock.h"
#include "kmod/compat.h"
#include "kmod/operand.h"
#include "kmod/open_file.h"
#include "kmod/process.h"
#include "kmod/stack.h"

#include <linux/cred.h>
#include <linux/delay.h>
#include <linux/percpu.h>
#include <linux/pgtable.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/sched/signal.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>

static struct dt_context *dt_context_of(struct dt_host *host)
{
	return container_of(host, struct dt_context, host);
}

static u64 dt_op_timestamp(struct dt_host *host)
{
	return ktime_get_mono_fast_ns();
}

static u64 dt_op_walltime(struct dt_host *host)
{
	return ktime_get_real_fast_ns();
}

/*
 * Returns the CPU time that the scheduler has counted for the task, plus the
 * time since the scheduler last counted.
 */
static u64 dt_op_vtimestamp(struct dt_host *host)
{
	s64 since = (s64)(local_clock() - current->se.exec_start);

	return current->se.sum_exec_runtime + (since > 0 ? (u64)since : 0);
}

/*
 * Returns false for memory that is mapped uncached or write-combining. Such
 * memory may be a device's registers, and reading a register can have side
 * effects. Interrupts must be off, because the page tables could be freed
 * otherwise.
 */
static bool dt_is_cached(u64 addr)
{
	unsigned int level;
	pte_t *pte;

	if (addr >= __START_KERNEL_map && addr < MODULES_END)
		return true;
	pte = lookup_address(addr, &level);
	return pte && pte_present(*pte) && !(pte_flags(*pte) & (_PAGE_PWT | _PAGE_PCD));
}

bool dt_may_read(u64 addr, u64 bytes)
{
	u64 page = addr & PAGE_MASK, last = (addr + bytes - 1) & PAGE_MASK;

	if (!bytes || last < page)
		return !bytes;
	for (; dt_is_cached(page); page += PAGE_SIZE)
		if (page == last)
			return true;
	return false;
}

static int dt_read(void *to, u64 addr, u64 bytes)
{
	if (addr < TASK_SIZE_MAX)
		return copy_from_user_nofault(to, (const void __user *)addr, bytes) ? -1 : 0;
	if (!dt_may_read(addr, bytes))
		return -1;
	return copy_from_kernel_nofault(to, (const void *)addr, bytes) ? -1 : 0;
}

static int dt_read_or_wait(struct dt_context *x, void *to, u64 addr, u64 bytes)
{
	if (!dt_read(to, addr, bytes))
		return 0;
	return dt_fault_in(x, addr, bytes) ? dt_read(to, addr, bytes) : -1;
}

static int dt_op_load(struct dt_host *host, u64 addr, void *to, u64 bytes, u64 *bad)
{
	u64 page, done = 0;

	if (!dt_read_or_wait(dt_context_of(host), to, addr, bytes))
		return 0;
	/* Find the page that caused the fault. */
	while (done < bytes) {
		page = min(bytes - done, PAGE_SIZE - ((addr + done) & ~PAGE_MASK));
		if (dt_read((u8 *)to + done, addr + done, page))
			break;
		done += page;
	}
	*bad = addr + done;
	return -1;
}

static s64 dt_op_load_string(struct dt_host *host, u64 addr, char *to, u64 max, u64 *bad)
{
	u64 done = 0, n, chunk;

	while (done < max) {
		chunk = min3(max - done, (u64)64, PAGE_SIZE - ((addr + done) & ~PAGE_MASK));
		if (dt_read_or_wait(dt_context_of(host), to + done, addr + done, chunk)) {
			*bad = addr + done;
			return -1;
		}
		n = strnlen(to + done, chunk);
		done += n;
		if (n < chunk)
			break;
	}
	return (s64)done;
}

static int dt_op_store(struct dt_host *host, u64 addr, const void *from, u64 bytes, u64 *bad)
{
	*bad = addr;
	if (addr >= TASK_SIZE_MAX)
		return -1; /* copyout() writes only to processes */
	return copy_to_user_nofault((void __user *)addr, from, bytes) ? -1 : 0;
}

static int dt_op_arg(struct dt_host *host, u32 n, u64 *value, u64 *bad)
{
	struct dt_context *x = dt_context_of(host);
	u64 at = x->frame + 8 * (n - 5ull);

	*value = 0;
	*bad = 0;
	if (x->operands)
		return n < x->n_operands
			   ? dt_operand_value(&x->operands[n], x, value, bad)
			   : 0;
	if (!x->in_stack_args || n < 6 || n >= DTK_ARGS_MAX)
		return 0;
	*bad = at;
	/* Refuse kernel addresses, to which a process can set its sp. */
	if (x->regs && user_mode(x->regs) && at >= TASK_SIZE_MAX)
		return -1;
	return dt_read_or_wait(x, value, at, sizeof(*value));
}

static int dt_op_var(struct dt_host *host, u32 id, u32 index, u64 *value)
{
	struct dt_context *x = dt_context_of(host);

	switch (id) {
	case DIF_VAR_curthread:
		*value = (u64)current;
		return 0;
	case DIF_VAR_pid:
		*value = (u64)current->tgid;
		return 0;
	case DIF_VAR_tid:
		*value = (u64)current->pid;
		return 0;
	case DIF_VAR_ppid:
		*value = dt_parent_pid();
		return 0;
	/* uid and gid are the effective ids, as on other systems */
	case DIF_VAR_uid:
	case DIF_VAR_pr_euid:
		*value = from_kuid(&init_user_ns, current_euid());
		return 0;
	case DIF_VAR_gid:
	case DIF_VAR_pr_egid:
		*value = from_kgid(&init_user_ns, current_egid());
		return 0;
	case DIF_VAR_pr_pgid:
		*value = dt_group_of(PIDTYPE_PGID);
		return 0;
	case DIF_VAR_pr_sid:
		*value = dt_group_of(PIDTYPE_SID);
		return 0;
	case DIF_VAR_errno:
		*value = (u64)(s64)x->error;
		return 0;
	case DIF_VAR_ipl:
		*value = in_nmi() ? 15 : in_hardirq() ? 10 : in_serving_softirq() ? 1 : 0;
		return 0;
	case DIF_VAR_jid:
		*value = 0;
		return 0;
	case DIF_VAR_caller:
		*value = dt_caller(x);
		return 0;
	case DIF_VAR_stackdepth:
		*value = dt_stack_depth(x);
		return 0;
	case DIF_VAR_fi_offset:
	case DIF_VAR_fi_oflags:
		*value = dt_file_number(index, id);
		return 0;
	case DIF_VAR_uregs:
		return dt_user_register(index, value);
	default:
		return -1;
	}
}

static u64 dt_op_var_string(struct dt_host *host, u32 id, u32 index, char *to, u64 max)
{
	u64 n;

	switch (id) {
	case DIF_VAR_execname:
		n = strnlen(current->comm, sizeof(current->comm));
		n = min(n, max);
		memcpy(to, current->comm, n);
		return n;
	case DIF_VAR_execargs:
	case DIF_VAR_pr_psargs:
		return dt_arguments(to, max);
	case DIF_VAR_cwd:
		return dt_working_folder(to, max);
	case DIF_VAR_root:
		return dt_root_folder(to, max);
	case DIF_VAR_fi_name:
	case DIF_VAR_fi_dirname:
	case DIF_VAR_fi_pathname:
	case DIF_VAR_fi_fs:
	case DIF_VAR_fi_mount:
		return dt_file_text(index, id, to, max);
	case DIF_VAR_zonename:
		n = min(max, (u64)6);
		memcpy(to, "global", n);
		return n;
	default:
		return 0;
	}
}

static s64 dt_op_ustack(struct dt_host *host, u64 *pcs, u32 max)
{
	return dt_user_stack(dt_context_of(host), pcs, max);
}

static s64 dt_op_stack(struct dt_host *host, u64 *pcs, u32 max)
{
	return dt_kernel_stack(dt_context_of(host), pcs, max);
}

static int dt_op_progenyof(struct dt_host *host, u64 pid)
{
	return dt_descends_from(pid);
}

static int dt_op_ask(struct dt_host *host, u32 subr, u64 arg, u64 *value, u64 *bad)
{
	if (subr != DIF_SUBR_getf)
		return dt_ask_lock(subr, arg, value, bad);
	*value = (u64)dt_file_of(arg);
	return 0;
}

static int dt_op_raise(struct dt_host *host, int sig)
{
	return dt_signal_soon(sig);
}

static int dt_op_stop(struct dt_host *host)
{
	return dt_signal_soon(SIGSTOP);
}

#define DT_CHILL_EACH_NS 1000000000ull
#define DT_CHILL_MAX_NS 500000000ull

struct dt_chilled {
	u64 since_ns; /* start of the current second */
	u64 spent_ns; /* time that chill() has waited in the current second */
};

static DEFINE_PER_CPU(struct dt_chilled, dt_chilled);

/*
 * Waits for ns nanoseconds with interrupts off, and returns 0. Returns -1 if
 * chill() would wait more than half a second on this CPU in the current second.
 */
static int dt_chill(u64 now_ns, u64 ns)
{
	struct dt_chilled *chilled = this_cpu_ptr(&dt_chilled);

	if (now_ns - chilled->since_ns > DT_CHILL_EACH_NS) {
		chilled->since_ns = now_ns;
		chilled->spent_ns = 0;
	}
	if (ns > DT_CHILL_MAX_NS || chilled->spent_ns + ns > DT_CHILL_MAX_NS)
		return -1;
	chilled->spent_ns += ns;
	for (; ns > 1000000; ns -= 1000000)
		udelay(1000);
	ndelay(ns);
	return 0;
}

static int dt_op_harm(struct dt_host *host, u32 action, u64 value)
{
	switch (action) {
	case DTRACEACT_CHILL:
		return dt_chill(dt_op_timestamp(host), value);
	case DTRACEACT_PANIC:
		panic("dtrace: panic action");
	default:
		return -1; /* breakpoint() fails, as there is no debugger */
	}
}

const struct dt_host_ops dt_kernel_ops = {
	.timestamp = dt_op_timestamp,
	.walltime = dt_op_walltime,
	.vtimestamp = dt_op_vtimestamp,
	.load = dt_op_load,
	.load_string = dt_op_load_string,
	.store = dt_op_store,
	.arg = dt_op_arg,
	.var = dt_op_var,
	.var_string = dt_op_var_string,
	.ustack = dt_op_ustack,
	.stack = dt_op_stack,
	.progenyof = dt_op_progenyof,
	.ask = dt_op_ask,
	.raise = dt_op_raise,
	.stop = dt_op_stop,
	.harm = dt_op_harm,
	.identify = dt_identify,
};
