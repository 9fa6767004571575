// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * /dev/dtrace: a consumer for each open file.
 *
 * All that comes in is distrusted: sizes are bounded before memory is taken for them,
 * programs are verified by dif/, ids are looked up. The arena's program part is written here
 * alone, and mapped read-only; its data part the consumer may write, and the engine believes
 * nothing of what it reads there (dif/README.md).
 *
 * Whoever may open it can read all of the kernel's memory: CAP_PERFMON is asked for.
 */
#include "kmod/consumer.h"

#include "kmod/compat.h"
#include "kmod/stable.h"
#include "kmod/unwind.h"

#include <linux/capability.h>
#include <linux/cpumask.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#define DT_MAX_DOF (64u << 20)
#define DT_MAX_ELEMENTS (1u << 20)
#define DT_MAX_NAMES (256u << 20)

static bool destructive;
module_param(destructive, bool, 0644);
MODULE_PARM_DESC(destructive, "D programs may use destructive actions (with dtrace -w)");

struct dt_consumer *dt_consumer_make(void)
{
	struct dt_consumer *c = kzalloc(sizeof(*c), GFP_KERNEL);

	if (!c)
		return NULL;
	mutex_init(&c->lock);
	INIT_LIST_HEAD(&c->tracepoints);
	INIT_LIST_HEAD(&c->timers);
	INIT_LIST_HEAD(&c->uprobes);
	return c;
}

void dt_consumer_free(struct dt_consumer *c)
{
	dt_unwind_free(c->unwind);
	vfree(c->arena);
	kfree(c);
}

static int dt_open(struct inode *inode, struct file *file)
{
	if (!perfmon_capable())
		return -EACCES;
	file->private_data = dt_consumer_make();
	return file->private_data ? 0 : -ENOMEM;
}

void dt_detach_all(struct dt_consumer *c)
{
	dt_timer_detach(c);
	dt_syscall_detach(c);
	dt_tracepoint_detach(c);
	dt_uprobe_detach(c);
	dt_fbt_detach(c);
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
	    .destructive_allowed = READ_ONCE(destructive),
	};

	return copy_to_user(to, &info, sizeof(info)) ? -EFAULT : 0;
}

/* What the caller may not choose, and what the engine would not bound. */
static int dt_config_check(struct dt_arena_config *config)
{
	u64 may = config->options[DTRACEOPT_destructive];

	if (may != DT_OPT_UNSET && may && !READ_ONCE(destructive))
		return -EACCES;
	if (config->max_probes > 1u << 22 || config->max_ecbs > 1u << 23 ||
	    config->max_clauses > 1u << 18 || config->max_vars > 1u << 16 ||
	    config->heap_bytes > 1ull << 32 || config->globals_bytes > 1ull << 30 ||
	    config->locals_bytes > 1ull << 24)
		return -E2BIG;
	/* Two more, for NMIs and while one is drained. */
	config->n_shards = min(nr_cpu_ids + 2, (u32)DT_MAX_SHARDS);
	config->n_cpus = nr_cpu_ids;
	config->has_float = 0;
	config->has_kernel = 1;
	config->walltime = ktime_get_real_ns();
	return 0;
}

int dt_arena_make(struct dt_consumer *c, struct dtk_arena *a)
{
	int error = dt_config_check(&a->config);

	if (error)
		return error;
	dt_arena_layout(&a->config, &a->program_bytes, &a->total_bytes);
	if (a->total_bytes / PAGE_SIZE > totalram_pages() / 2)
		return -ENOMEM;
	c->arena = vmalloc_user(a->total_bytes);
	if (!c->arena)
		return -ENOMEM;
	dt_arena_init(c->arena, &a->config);
	c->program_bytes = a->program_bytes;
	c->total_bytes = a->total_bytes;
	return 0;
}

static long dt_make_arena(struct dt_consumer *c, struct dtk_arena __user *user)
{
	struct dtk_arena *a;
	long error;

	if (c->arena)
		return -EEXIST;
	a = memdup_user(user, sizeof(*a));
	if (IS_ERR(a))
		return PTR_ERR(a);
	error = dt_arena_make(c, a);
	if (!error && copy_to_user(user, a, sizeof(*a)))
		error = -EFAULT;
	kfree(a);
	return error;
}

static long dt_load_program(struct dt_consumer *c, struct dtk_load __user *user)
{
	struct dtk_load *l = memdup_user(user, sizeof(*l));
	long error = 0;
	void *dof;

	if (IS_ERR(l))
		return PTR_ERR(l);
	if (l->bytes > DT_MAX_DOF) {
		kfree(l);
		return -E2BIG;
	}
	dof = vmemdup_user((void __user *)l->dof, l->bytes);
	if (IS_ERR(dof)) {
		kfree(l);
		return PTR_ERR(dof);
	}
	memset(&l->error, 0, sizeof(l->error));
	if (dt_load(c->arena, dof, l->bytes, &l->first_clause, &l->n_clauses, &l->error))
		error = -EINVAL;
	if (copy_to_user(user, l, sizeof(*l)))
		error = -EFAULT;
	kvfree(dof);
	kfree(l);
	return error;
}

const char *dt_next(const char **at, const char *end)
{
	const char *text = *at;

	if (text >= end)
		return NULL;
	*at = text + strlen(text) + 1;
	return text;
}

long dt_names_add(struct dt_consumer *c, const char *at, const char *end, u32 n, u32 *n_done)
{
	const char *part[4];
	int i;

	for (*n_done = 0; *n_done < n; ++*n_done) {
		for (i = 0; i < 4; i++)
			part[i] = dt_next(&at, end);
		if (!part[3])
			return -EINVAL;
		if (!dt_probe_add(c->arena, part[0], part[1], part[2], part[3]))
			return -ENOSPC;
		cond_resched();
	}
	return 0;
}

static long dt_add_probes(struct dt_consumer *c, struct dtk_list *list)
{
	char *names;
	long error;

	if (list->bytes > DT_MAX_NAMES)
		return -E2BIG;
	if (!list->bytes)
		return list->n ? -EINVAL : 0;
	names = vmemdup_user((void __user *)list->at, list->bytes);
	if (IS_ERR(names))
		return PTR_ERR(names);
	error = names[list->bytes - 1] ? -EINVAL
				       : dt_names_add(c, names, names + list->bytes, list->n,
						      &list->n_done);
	kvfree(names);
	return error;
}

static long dt_add_ecbs(struct dt_consumer *c, struct dtk_list *list)
{
	const struct dt_arena *arena = c->arena;
	struct dtk_ecb *ecbs;
	long error = 0;
	u32 i;

	if (list->n > DT_MAX_ELEMENTS || list->bytes != list->n * sizeof(*ecbs))
		return -E2BIG;
	ecbs = vmemdup_user((void __user *)list->at, list->bytes);
	if (IS_ERR(ecbs))
		return PTR_ERR(ecbs);
	for (i = 0; i < list->n && !error; i++) {
		if (!ecbs[i].probe || ecbs[i].probe > arena->probes.n ||
		    ecbs[i].clause >= arena->clauses.n)
			error = -EINVAL;
		else if (!dt_ecb_add(c->arena, ecbs[i].probe, ecbs[i].clause))
			error = -ENOSPC;
		list->n_done = i + !error;
		cond_resched();
	}
	kvfree(ecbs);
	return error;
}

static int dt_attach_one(struct dt_consumer *c, const struct dtk_site *site)
{
	switch (site->kind) {
	case DTK_SYSCALL_ENTRY:
	case DTK_SYSCALL_RETURN:
		return dt_syscall_attach(c, site);
	case DTK_TRACEPOINT:
		return dt_tracepoint_attach(c, site);
	case DTK_STABLE_ROW: /* of a function it is one of fbt's */
		return dt_stable_tracepoint_attach(c, site, &dt_stables[site->where]);
	case DTK_PROFILE:
	case DTK_TICK:
		return dt_timer_attach(c, site);
	case DTK_UPROBE:
	case DTK_URETURN:
	case DTK_USTATIC:
		return dt_uprobe_attach(c, site);
	default:
		return -EINVAL;
	}
}

static bool dt_is_fbt(const struct dtk_site *site)
{
	return site->kind == DTK_FBT_ENTRY || site->kind == DTK_FBT_RETURN ||
	       (site->kind == DTK_STABLE_ROW &&
		dt_stables[site->where].how != DTK_STABLE_TRACEPOINT);
}

static bool dt_is_site(const struct dt_arena *arena, const struct dtk_site *site)
{
	return site->probe && site->probe <= arena->probes.n &&
	       (site->kind != DTK_STABLE_ROW || site->where < dt_n_stables);
}

/* Runs of fbt's are attached at once, all others one by one. */
void dt_attach_sites(struct dt_consumer *c, struct dtk_site *sites, u32 n)
{
	const struct dt_arena *arena = c->arena;
	u32 i, end;

	for (i = 0; i < n; i = end) {
		end = i + 1;
		if (!dt_is_site(arena, &sites[i])) {
			sites[i].error = -EINVAL;
			continue;
		}
		if (!dt_is_fbt(&sites[i])) {
			sites[i].error = dt_attach_one(c, &sites[i]);
			continue;
		}
		while (end < n && dt_is_site(arena, &sites[end]) && dt_is_fbt(&sites[end]))
			end++;
		dt_fbt_attach(c, sites + i, end - i);
	}
}

static long dt_attach(struct dt_consumer *c, struct dtk_list *list)
{
	struct dtk_site *sites;
	long error = 0;
	u32 i;

	if (list->n > DT_MAX_ELEMENTS || list->bytes != list->n * sizeof(*sites))
		return -E2BIG;
	sites = vmemdup_user((void __user *)list->at, list->bytes);
	if (IS_ERR(sites))
		return PTR_ERR(sites);
	for (i = 0; i < list->n; i++)
		sites[i].error = 0;
	dt_attach_sites(c, sites, list->n);
	list->n_done = 0;
	for (i = 0; i < list->n; i++)
		list->n_done += !sites[i].error;
	if (copy_to_user((void __user *)list->at, sites, list->bytes))
		error = -EFAULT;
	kvfree(sites);
	return error;
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
	struct dt_consumer *c = READ_ONCE(file->private_data), *claimed = NULL;
	long result;

	if (mutex_lock_interruptible(&c->lock))
		return -EINTR;
	if (cmd != DTK_CLAIM)
		result = dt_do_ioctl(c, cmd, (void __user *)arg);
	else if (c->arena || file->private_data != c)
		result = -EEXIST;
	else
		result = dt_anonymous_claim((void __user *)arg, &claimed);
	if (claimed) {
		claimed->replaced = c; /* others may be waiting for its mutex */
		WRITE_ONCE(file->private_data, claimed);
	}
	mutex_unlock(&c->lock);
	return result;
}

static int dt_map(struct dt_consumer *c, struct vm_area_struct *vma)
{
	u64 begin = (u64)vma->vm_pgoff << PAGE_SHIFT;
	u64 end = begin + (vma->vm_end - vma->vm_start);

	if (!c->arena)
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
	return remap_vmalloc_range(vma, c->arena, vma->vm_pgoff);
}

static int dt_mmap(struct file *file, struct vm_area_struct *vma)
{
	return dt_map(file->private_data, vma);
}

static const struct file_operations dt_operations = {
    .owner = THIS_MODULE, /* it stays as long as a file is open */
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
	int error = dt_tracepoints_begin();

	if (error)
		return error;
	error = dt_timers_begin();
	if (error)
		goto without_timers;
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
	dt_timers_end();
without_timers:
	dt_tracepoints_end();
	return error;
}

static void __exit dt_end(void)
{
	misc_deregister(&dt_device);
	dt_anonymous_end();
	dt_fbt_end();
	dt_timers_end();
	dt_tracepoints_end();
	dt_returns_end();
}

module_init(dt_begin);
module_exit(dt_end);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("DTrace: D programs in the kernel");
