// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Implements pid and USDT probes with the kernel's uprobes. Such a probe is at
 * an instruction in a mapped file.
 *
 *   site ── file, offset ──▶ breakpoint in the text of the selected processes
 *        └─ pid ──▶ memory (mm) of the program that the process currently runs
 *
 * The kernel writes breakpoints into the memory of each process for which our
 * filter returns true. A forked child has copies of the breakpoints. The kernel
 * removes such a copy when the child reaches it, unless the child is selected.
 * A child that shares the memory, as after vfork(), fires the probe.
 *
 * Return probes do not use uretprobes, because these replace the return
 * address. Instead, every instruction that leaves the function is a site.
 *
 * A breakpoint in the middle of an instruction would change the program. So the
 * text is decoded up to the site, usually from the start of the function.
 *
 * The handler runs in the thread itself and may wait for a page (fire.c). The
 * handlers of one address are called in the reverse of the order in which they
 * were attached.
 */
#include "kmod/consumer.h"

#include "kmod/compat.h"
#include "kmod/operand.h"
#include "kmod/process.h"
#include "kmod/symbols.h"

#include <linux/capability.h>
#include <linux/dcache.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>
#include <linux/uprobes.h>

#include <asm/insn.h>

struct dt_uprobe {
	struct uprobe_consumer uc;
	struct list_head of_consumer;
	struct dt_consumer *consumer;
	struct file *file; /* a reference that keeps the inode in memory */
	struct uprobe *made;
	struct pid *pid; /* null: all processes */
	/* mm of `pid`; the reference keeps this structure, but not the pages */
	struct mm_struct *mm;
	u64 since; /* attach time, in the clock and unit of task->start_time */
	u64 offset, arg0;
	u32 probe, kind, flags, when;
	u32 n_operands, n_room;
	struct dt_operand operands[];
};

/* the maximum number of pages that one firing waits for */
#define DT_MAX_PAGES 64
#define DT_MAX_GENERATIONS 64

/*
 * Returns whether the current process descends from the site's process. The
 * current process and every process between the two must have been forked after
 * the probe was attached. None of them may have called exec.
 */
static bool dt_is_child(const struct dt_uprobe *u)
{
	const struct task_struct *task = current->group_leader;
	bool found = false;
	int depth;

	rcu_read_lock();
	for (depth = 0; depth < DT_MAX_GENERATIONS && !found; depth++) {
		if (!(task->flags & PF_FORKNOEXEC) || task->start_time < u->since)
			break;
		task = rcu_dereference(task->real_parent);
		task = READ_ONCE(task->group_leader);
		found = task_tgid((struct task_struct *)task) == u->pid;
	}
	rcu_read_unlock();
	return found;
}

/* Returns whether a process with this mm should have the breakpoint. */
static bool dt_is_wanted(const struct dt_uprobe *u, const struct mm_struct *mm)
{
	if (!u->pid || mm == u->mm)
		return true;
	return u->flags & DTK_UPROBE_CHILDREN && mm == current->mm && dt_is_child(u);
}

static bool dt_uprobe_filter(DT_UPROBE_FILTER_PARAMETERS)
{
	return dt_is_wanted(container_of(uc, struct dt_uprobe, uc), mm);
}

/*
 * Returns whether a conditional jump is taken. The condition is the low four
 * bits of the opcode of an x86 Jcc instruction. Bit 0 negates the condition.
 */
static bool dt_is_taken(u32 condition, unsigned long flags)
{
	bool c = flags & X86_EFLAGS_CF, z = flags & X86_EFLAGS_ZF;
	bool s = flags & X86_EFLAGS_SF, o = flags & X86_EFLAGS_OF;
	bool is;

	switch (condition >> 1) {
	case 0:
		is = o;
		break;
	case 1:
		is = c;
		break;
	case 2:
		is = z;
		break;
	case 3:
		is = c || z;
		break;
	case 4:
		is = s;
		break;
	case 5:
		is = flags & X86_EFLAGS_PF;
		break;
	case 6:
		is = s != o;
		break;
	default:
		is = z || s != o;
		break;
	}
	return is != (condition & 1);
}

static void dt_uprobe_run(const struct dt_uprobe *u, struct pt_regs *regs)
{
	struct dt_context x = {.regs = regs, .frame = regs->sp, .may_wait = DT_MAX_PAGES};
	u64 args[6];
	u32 n = 6;

	x.at_call = !!(u->flags & DTK_UPROBE_AT_CALL);
	if (u->kind == DTK_USTATIC) {
		x.operands = u->operands;
		x.n_operands = u->n_operands;
		n = 0;
	} else if (u->kind == DTK_URETURN) {
		args[0] = u->arg0;
		args[1] = regs->ax;
		n = 2;
	} else {
		args[0] = regs->di;
		args[1] = regs->si;
		args[2] = regs->dx;
		args[3] = regs->cx;
		args[4] = regs->r8;
		args[5] = regs->r9;
		x.in_stack_args = 1;
	}
	dt_kfire(u->consumer, &x, u->probe, args, n);
}

/*
 * Returns whether an indirect jump leaves its function (dt_leaves_function()).
 */
static bool dt_jumps_out(const struct dt_uprobe *u, struct pt_regs *regs)
{
	/*
	 * x.may_wait must be 0, because no firing has begun. dt_bring_in()
	 * faults in the page instead.
	 */
	struct dt_context x = {.regs = regs, .frame = regs->sp};
	u64 to, bad = 0;

	if (dt_operand_value(&u->operands[0], &x, &to, &bad) &&
	    (!dt_bring_in(bad, sizeof(to)) || dt_operand_value(&u->operands[0], &x, &to, &bad)))
		/*
		 * Either the jump itself will fault, or a page of its jump
		 * table cannot be faulted in.
		 */
		return false;
	return dt_leaves_function(u->operands, u->n_operands, to);
}

static int dt_uprobe_hit(struct uprobe_consumer *uc, struct pt_regs *regs)
{
	struct dt_uprobe *u = container_of(uc, struct dt_uprobe, uc);

	if (!dt_is_wanted(u, current->mm))
		return UPROBE_HANDLER_REMOVE;
	if (u->when && !dt_is_taken(u->when - 1, regs->flags))
		return 0;
	if (u->kind == DTK_URETURN && u->n_operands && !dt_jumps_out(u, regs))
		return 0;
	dt_uprobe_run(u, regs);
	return 0;
}

static void dt_uprobe_free(struct dt_uprobe *u)
{
	struct dt_consumer *c = u->consumer;

	if (u->mm)
		mmdrop(u->mm);
	put_pid(u->pid);
	if (u->file)
		fput(u->file);
	dt_free(c, u, struct_size(u, operands, u->n_room));
}

static struct inode *dt_inode_of(const struct dt_uprobe *u)
{
	return d_real_inode(u->file->f_path.dentry);
}

static int dt_uprobe_check(const struct dtk_uprobe *from, u32 kind)
{
	if (from->pid < 0 || from->flags & ~DTK_UPROBE_FLAGS ||
	    from->inside > DTK_INSIDE_MAX || from->inside > from->offset ||
	    from->when > 16 || from->n_operands > DTK_OPERANDS_MAX ||
	    from->offset > LLONG_MAX || from->semaphore > LLONG_MAX)
		return -EINVAL;
	if (!from->n_operands || kind == DTK_USTATIC)
		return 0;
	/*
	 * The operands of an indirect jump are its destination and two bounds
	 * for each part of the function.
	 */
	return kind == DTK_URETURN && from->n_operands % 2 && from->n_operands > 1 ? 0 : -EINVAL;
}

/*
 * Decodes the file's text, starting @inside bytes before the offset. Returns 0
 * if an instruction begins at the offset, otherwise -EILSEQ. Returns another
 * errno if the text cannot be read, or if this kernel has no decoder.
 */
static int dt_is_instruction(struct file *file, u64 offset, u32 inside)
{
	const u32 room = inside + MAX_INSN_SIZE;
	loff_t at = offset - inside;
	struct insn insn;
	ssize_t n;
	u32 pc = 0;
	int error = 0;
	u8 *text = kvmalloc(room, GFP_KERNEL_ACCOUNT);

	if (!text)
		return -ENOMEM;
	n = kernel_read(file, text, room, &at);
	if (n <= (ssize_t)inside)
		error = n < 0 ? n : -EILSEQ;
	while (!error && pc <= inside) {
		error = dt_decode(&insn, text + pc, min_t(u32, n - pc, MAX_INSN_SIZE));
		if (error)
			error = error == -EOPNOTSUPP ? error : -EILSEQ;
		else if (pc == inside)
			break;
		else
			pc += insn.length;
		cond_resched();
	}
	if (!error && pc != inside)
		error = -EILSEQ;
	kvfree(text);
	return error;
}

static int dt_uprobe_fill(struct dt_uprobe *u, const struct dtk_uprobe *from)
{
	struct inode *inode;
	int error;
	u32 i;

	if (copy_from_user(u->operands, (const void __user *)from->operands,
			   array_size(from->n_operands, sizeof(u->operands[0]))))
		return -EFAULT;
	for (i = 0; i < from->n_operands; i++)
		if (!dt_operand_is_valid(&u->operands[i]))
			return -EINVAL;
	u->n_operands = from->n_operands;
	u->file = fget(from->fd);
	if (!u->file)
		return -EBADF;
	if (!(u->file->f_mode & FMODE_READ))
		return -EACCES;
	inode = dt_inode_of(u);
	if (!S_ISREG(inode->i_mode) || from->offset >= i_size_read(inode) ||
	    from->semaphore >= i_size_read(inode))
		return -EINVAL;
	error = dt_is_instruction(u->file, from->offset, from->inside);
	if (error)
		return error;
	u->offset = from->offset;
	u->arg0 = from->arg0;
	u->flags = from->flags;
	u->when = from->when;
	u->uc.handler = dt_uprobe_hit;
	if (!from->pid)
		return 0;
	u->uc.filter = dt_uprobe_filter;
	return dt_grab_mm(from->pid, &u->pid, &u->mm);
}

int dt_uprobe_attach(struct dt_consumer *c, const struct dtk_site *site)
{
	struct dtk_uprobe from;
	struct dt_uprobe *u;
	int error;

	if (copy_from_user(&from, (const void __user *)site->where, sizeof(from)))
		return -EFAULT;
	error = dt_uprobe_check(&from, site->kind);
	if (error)
		return error;
	if (fatal_signal_pending(current))
		return -EINTR;
	if (!capable(CAP_SYS_ADMIN))
		return -EPERM; /* a breakpoint can change other users' programs */
	u = dt_make(c, struct_size(u, operands, from.n_operands));
	if (!u)
		return -ENOMEM;
	u->consumer = c;
	u->n_room = from.n_operands;
	u->probe = site->probe;
	u->kind = site->kind;
	u->since = ktime_get_ns();
	error = dt_uprobe_fill(u, &from);
	if (!error)
		error = dt_uprobe_put_on(dt_inode_of(u), u->offset, from.semaphore, &u->uc,
					 &u->made);
	if (error) {
		dt_uprobe_free(u);
		return error;
	}
	list_add(&u->of_consumer, &c->uprobes);
	return 0;
}

void dt_uprobe_detach(struct dt_consumer *c)
{
	struct dt_uprobe *u, *next;

	if (list_empty(&c->uprobes))
		return;
	list_for_each_entry(u, &c->uprobes, of_consumer) {
		dt_uprobe_take_off(dt_inode_of(u), u->offset, &u->uc, u->made);
		cond_resched();
	}
	dt_uprobes_are_off();
	list_for_each_entry_safe(u, next, &c->uprobes, of_consumer) {
		list_del(&u->of_consumer);
		dt_uprobe_free(u);
	}
}
