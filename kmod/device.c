// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Implements /dev/dtrace, and the initialisation and exit of the module. Each
 * open file is a consumer. A user who can open the device can read all of the
 * kernel's memory, so CAP_PERFMON is required.
 */
#include "kmod/consumer.h"

#include "kmod/compat.h"
#include "abi/stable.h"
#include "kmod/symbols.h"
#include "kmod/unwind.h"

#include <linux/capability.h>
#include <linux/cpumask.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

static int dt_open(struct inode *inode, struct file *file)
{
	if (!perfmon_capable())
		return -EACCES;
	file->private_data = dt_consumer_make();
	return file->private_data ? 0 : -ENOMEM;
}

static int dt_release(struct inode *inode, struct file *file)
{
	struct dt_consumer *c = file->private_data;

	dt_detach_all(c);
	if (c->replaced)
		dt_consumer_free(c->replaced);
	dt_consumer_free(c);
	return 0;
}

static long dt_tell(void __user *to)
{
	struct dtk_info info = {
	    .abi = DTK_ABI,
	    .arena_version = DT_ARENA_VERSION,
	    .n_cpus = nr_cpu_ids,
	    .destructive_allowed = READ_ONCE(dt_destructive),
	};

	return copy_to_user(to, &info, sizeof(info)) ? -EFAULT : 0;
}

static long dt_fire_by_request(struct dt_consumer *c, u32 __user *user)
{
	struct dt_context x = {};
	u64 args[1] = {};
	u32 probe;

	if (get_user(probe, user))
		return -EFAULT;
	if (probe != DT_PROBE_BEGIN && probe != DT_PROBE_END)
		return -EINVAL;
	dt_kfire(c, &x, probe, args, 1);
	return 0;
}

typedef long dt_with_list(struct dt_consumer *c, struct dtk_list *list);

static long dt_call(struct dt_consumer *c, dt_with_list *what, struct dtk_list __user *user)
{
	struct dtk_list list;
	long error;

	if (copy_from_user(&list, user, sizeof(list)))
		return -EFAULT;
	list.n_done = 0;
	error = what(c, &list);
	if (put_user(list.n_done, &user->n_done))
		return -EFAULT;
	return error;
}

static long dt_do_ioctl(struct dt_consumer *c, unsigned int cmd, void __user *user)
{
	if (cmd == DTK_INFO)
		return dt_tell(user);
	if (cmd == DTK_ARENA)
		return dt_make_arena(c, user);
	if (!c->arena)
		return -ENXIO;
	switch (cmd) {
	case DTK_LOAD:
		return dt_load_program(c, user);
	case DTK_PROBES:
		return dt_call(c, dt_add_probes, user);
	case DTK_ECBS:
		return dt_call(c, dt_add_ecbs, user);
	case DTK_ATTACH:
		return dt_call(c, dt_attach, user);
	case DTK_TABLE:
		return dt_call(c, dt_unwind_table, user);
	case DTK_MAPS:
		return dt_unwind_maps(c, user);
	case DTK_STRANGERS:
		return dt_call(c, dt_unwind_strangers, user);
	case DTK_FIRE:
		return dt_fire_by_request(c, user);
	case DTK_DETACH:
		dt_detach_all(c);
		return 0;
	default:
		return -ENOTTY;
	}
}

static long dt_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct dt_consumer *c, *claimed = NULL;
	long result;

	/*
	 * If another thread claims the anonymous consumer while this thread
	 * waits for the mutex, the anonymous consumer replaces c.
	 */
	for (;;) {
		c = READ_ONCE(file->private_data);
		if (mutex_lock_interruptible(&c->lock))
			return -EINTR;
		if (c == READ_ONCE(file->private_data))
			break;
		mutex_unlock(&c->lock);
	}
	if (cmd != DTK_CLAIM)
		result = dt_do_ioctl(c, cmd, (void __user *)arg);
	else if (c->arena)
		result = -EEXIST;
	else
		result = dt_anonymous_claim((void __user *)arg, &claimed);
	if (claimed) {
		/* c is kept, because other threads may wait for its mutex */
		claimed->replaced = c;
		WRITE_ONCE(file->private_data, claimed);
	}
	mutex_unlock(&c->lock);
	return result;
}

static int dt_map_pages(struct vm_area_struct *vma, const void *from)
{
	unsigned long at;
	int error = 0;

	for (at = vma->vm_start; at < vma->vm_end && !error; at += PAGE_SIZE, from += PAGE_SIZE)
		error = vm_insert_page(vma, at, vmalloc_to_page(from));
	return error;
}

static int dt_map(struct dt_consumer *c, struct vm_area_struct *vma)
{
	u64 begin = (u64)vma->vm_pgoff << PAGE_SHIFT;
	u64 end = begin + (vma->vm_end - vma->vm_start);
	/* c->program_bytes and c->total_bytes were set before c->arena */
	const void *arena = smp_load_acquire(&c->arena);

	if (!arena)
		return -ENXIO;
	if (!(vma->vm_flags & VM_SHARED) || vma->vm_flags & VM_EXEC)
		return -EINVAL;
	if (end > c->total_bytes || end < begin)
		return -EINVAL;
	if (begin < c->program_bytes) {
		if (vma->vm_flags & VM_WRITE)
			return -EACCES;
		if (end > c->program_bytes)
			return -EINVAL;
		dt_forbid_writing(vma);
	}
	dt_mapping_is_fixed(vma);
	return dt_map_pages(vma, arena + begin);
}

static int dt_mmap(struct file *file, struct vm_area_struct *vma)
{
	return dt_map(READ_ONCE(file->private_data), vma);
}

static const struct file_operations dt_operations = {
    .owner = THIS_MODULE, /* the module is not unloaded while a file is open */
    .open = dt_open,
    .release = dt_release,
    .unlocked_ioctl = dt_ioctl,
    .mmap = dt_mmap,
    .llseek = noop_llseek,
};

static struct miscdevice dt_device = {
    .minor = MISC_DYNAMIC_MINOR,
    .name = "dtrace",
    .fops = &dt_operations,
    .mode = 0600,
};

static int __init dt_begin(void)
{
	int error = dt_symbols_begin();

	if (error)
		return error;
	dt_stable_io_begin();
	error = dt_tracepoints_begin();
	if (error)
		goto without_tracepoints;
	error = dt_timers_begin();
	if (error)
		goto without_timers;
	error = dt_cpc_begin();
	if (error)
		goto without_counters;
	error = dt_fbt_begin();
	if (error)
		goto without_fbt;
	error = misc_register(&dt_device);
	if (error)
		goto without_device;
	dt_anonymous_begin();
	return 0;

without_device:
	dt_fbt_end();
without_fbt:
	dt_cpc_end();
without_counters:
	dt_timers_end();
without_timers:
	dt_tracepoints_end();
without_tracepoints:
	dt_symbols_end();
	return error;
}

static void __exit dt_end(void)
{
	misc_deregister(&dt_device);
	dt_anonymous_end();
	dt_fbt_end();
	dt_cpc_end();
	dt_timers_end();
	dt_tracepoints_end();
	dt_returns_end();
	dt_symbols_end();
}

module_init(dt_begin);
module_exit(dt_end);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("DTrace: D programs in the kernel");
