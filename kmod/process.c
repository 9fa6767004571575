// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Reads data of the current process without locks.
 *
 * Parents, groups and paths are read with copy_from_kernel_nofault(), because
 * RCU may not be watching. A signal is sent from an irq_work, because the
 * current thread may hold a lock that sending a signal needs.
 */
#include "kmod/process.h"

#include "dif/vars.h"
#include "kmod/compat.h"

#include <linux/fs_struct.h>
#include <linux/irq_work.h>
#include <linux/mm_types.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <linux/uaccess.h>

#include <asm/msr.h>

u64 dt_parent_pid(void)
{
	struct task_struct *parent = NULL;
	pid_t pid = 0;

	/* If the parent has been freed, the copy fails or pid is stale. */
	copy_from_kernel_nofault(&parent, &current->real_parent, sizeof(parent));
	if (parent)
		copy_from_kernel_nofault(&pid, &parent->tgid, sizeof(pid));
	return (u64)pid;
}

u64 dt_group_of(enum pid_type type)
{
	struct pid *pid = NULL;
	int nr = 0;

	copy_from_kernel_nofault(&pid, &current->signal->pids[type], sizeof(pid));
	if (pid)
		copy_from_kernel_nofault(&nr, &pid->numbers[0].nr, sizeof(nr));
	return (u64)nr;
}

u64 dt_arguments(char *to, u64 max)
{
	struct mm_struct *mm = current->mm;
	unsigned long at, end;
	u64 n, i;

	if (!mm)
		return 0;
	at = READ_ONCE(mm->arg_start);
	end = READ_ONCE(mm->arg_end);
	if (end <= at)
		return 0;
	n = min_t(u64, end - at, max);
	if (copy_from_user_nofault(to, (const void __user *)at, n))
		return 0;
	while (n && !to[n - 1])
		n--;
	for (i = 0; i < n; i++)
		if (!to[i])
			to[i] = ' ';
	return n;
}

/*
 * The first fields of struct mount, which have not changed since Linux 3.3.
 * `mountpoint` is in the mount `parent`.
 */
struct dt_mount_head {
	struct hlist_node hash;
	void *parent;
	struct dentry *mountpoint;
	struct vfsmount mnt;
};

#define DT_MAX_DEPTH 256

static int dt_peek(void *to, const void *from, size_t bytes)
{
	return copy_from_kernel_nofault(to, from, bytes) ? -1 : 0;
}

/*
 * Inserts a slash and the name of dentry before the text that begins at *at,
 * and moves *at to the slash. Returns 1, or 0 if there is no space or the name
 * cannot be read.
 */
static int dt_put_name(char *text, u64 *at, const struct dentry *dentry)
{
	struct qstr name;

	if (dt_peek(&name, &dentry->d_name, sizeof(name)) || name.len >= *at)
		return 0;
	*at -= name.len;
	if (dt_peek(text + *at, name.name, name.len))
		return 0;
	text[--*at] = '/';
	return 1;
}

static u64 dt_path(const struct path *path, const struct path *top, char *to, u64 max)
{
	struct dentry *dentry = path->dentry, *parent, *root;
	struct vfsmount *mnt = path->mnt;
	struct dt_mount_head *mount;
	u64 at = max, n;
	int depth;

	for (depth = 0; depth < DT_MAX_DEPTH; depth++) {
		if (dentry == top->dentry && mnt == top->mnt)
			break;
		if (dt_peek(&root, &mnt->mnt_root, sizeof(root)) ||
		    dt_peek(&parent, &dentry->d_parent, sizeof(parent)))
			return 0;
		if (dentry == root || dentry == parent) {
			mount = container_of(mnt, struct dt_mount_head, mnt);
			if (dt_peek(&parent, &mount->mountpoint, sizeof(parent)) ||
			    dt_peek(&mount, &mount->parent, sizeof(mount)))
				return 0;
			if (mnt == &mount->mnt)
				break; /* the topmost mount */
			dentry = parent;
			mnt = &mount->mnt;
			continue;
		}
		if (!dt_put_name(to, &at, dentry))
			return 0;
		dentry = parent;
	}
	if (at == max && max)
		to[--at] = '/';
	n = max - at;
	memmove(to, to + at, n);
	return n;
}

static int dt_get_paths(struct path *cwd, struct path *root)
{
	struct fs_struct *fs = current->fs;

	return fs && !dt_peek(cwd, &fs->pwd, sizeof(*cwd)) &&
	       !dt_peek(root, &fs->root, sizeof(*root));
}

u64 dt_path_text(const struct path *path, char *to, u64 max)
{
	struct path cwd, root;

	return dt_get_paths(&cwd, &root) ? dt_path(path, &root, to, max) : 0;
}

u64 dt_name_of(const struct dentry *dentry, char *to, u64 max)
{
	struct qstr name;
	u64 n;

	if (dt_peek(&name, &dentry->d_name, sizeof(name)))
		return 0;
	n = min_t(u64, name.len, max);
	return dt_peek(to, name.name, n) ? 0 : n;
}

u64 dt_working_folder(char *to, u64 max)
{
	struct path cwd, root;

	return dt_get_paths(&cwd, &root) ? dt_path(&cwd, &root, to, max) : 0;
}

u64 dt_root_folder(char *to, u64 max)
{
	/* matches no directory, so that dt_path() ends at the topmost mount */
	static const struct path top;
	struct path cwd, root;

	return dt_get_paths(&cwd, &root) ? dt_path(&root, &top, to, max) : 0;
}

int dt_descends_from(u64 pid)
{
	struct task_struct *task = current;
	pid_t its;
	int depth;

	for (depth = 0; depth < DT_MAX_DEPTH; depth++) {
		if (dt_peek(&its, &task->tgid, sizeof(its)))
			return 0;
		if ((u64)its == pid)
			return 1;
		if (!its || dt_peek(&task, &task->real_parent, sizeof(task)))
			return 0;
	}
	return 0;
}

/*
 * Reads the FS base from the processor. The value that the kernel has saved may
 * be out of date, because programs can set the FS base without a system call.
 */
u64 dt_user_fs_base(void)
{
	u64 base;

	rdmsrl(MSR_FS_BASE, base);
	return base;
}

/*
 * Reads the process's GS base from MSR_KERNEL_GS_BASE. While the kernel runs,
 * the GS base register itself holds the kernel's value.
 */
u64 dt_user_gs_base(void)
{
	u64 base;

	rdmsrl(MSR_KERNEL_GS_BASE, base);
	return base;
}

int dt_user_register(u32 index, u64 *value)
{
	const struct pt_regs *regs = task_pt_regs(current);

	if (!current->mm)
		return -1;
	switch (index) {
#define ROW(number, what)                                                                     \
	case number:                                                                          \
		*value = (what);                                                              \
		return 0;
		ROW(0, regs->r15)
		ROW(1, regs->r14)
		ROW(2, regs->r13)
		ROW(3, regs->r12)
		ROW(4, regs->r11)
		ROW(5, regs->r10)
		ROW(6, regs->r9)
		ROW(7, regs->r8)
		ROW(8, regs->di)
		ROW(9, regs->si)
		ROW(10, regs->bp)
		ROW(11, regs->bx)
		ROW(12, regs->dx)
		ROW(13, regs->cx)
		ROW(14, regs->ax)
		ROW(15, 0)
		ROW(16, 0)
		ROW(17, regs->ip)
		ROW(18, (u16)regs->cs)
		ROW(19, regs->flags)
		ROW(20, regs->sp)
		ROW(21, (u16)regs->ss)
		ROW(26, dt_user_fs_base())
		ROW(27, dt_user_gs_base())
#undef ROW
	default:
		return index < DIF_UREGS_AMD64_N ? (*value = 0) : -1;
	}
}

struct dt_signal {
	struct irq_work work;
	struct task_struct *task;
	int sig;
};

#define DT_SIGNALS 16
static DEFINE_PER_CPU(struct dt_signal[DT_SIGNALS], dt_signals);

static void dt_send(struct irq_work *work)
{
	struct dt_signal *s = container_of(work, struct dt_signal, work);

	send_sig(s->sig, s->task, 1);
	put_task_struct(s->task);
	smp_store_release(&s->task, NULL);
}

int dt_signal_soon(int sig)
{
	struct dt_signal *all = this_cpu_ptr(dt_signals);
	u32 i;

	if (current->flags & PF_KTHREAD || is_global_init(current))
		return -1;
	for (i = 0; i < DT_SIGNALS; i++) {
		struct dt_signal *s = &all[i];

		if (smp_load_acquire(&s->task))
			continue;
		init_irq_work(&s->work, dt_send);
		s->sig = sig;
		s->task = current;
		get_task_struct(current);
		irq_work_queue(&s->work);
		return 0;
	}
	return -1;
}

int dt_grab_mm(s32 number, struct pid **pid, struct mm_struct **mm)
{
	struct task_struct *task;

	*pid = find_get_pid(number);
	task = get_pid_task(*pid, PIDTYPE_TGID);
	if (!task)
		return -ESRCH;
	*mm = get_task_mm(task);
	put_task_struct(task);
	if (!*mm)
		return -ESRCH;
	mmgrab(*mm); /* prevents the address in *mm from being reused */
	mmput(*mm);
	return 0;
}
