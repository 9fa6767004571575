// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Handles a consumer's requests: its arena, programs, probes and sites.
 *
 * All input is untrusted: sizes are limited, programs are verified, and ids are
 * looked up. Only this module writes the arena's program part. The consumer may
 * write the data part, so the engine trusts nothing that it reads there
 * (dif/README.md).
 */
#include "kmod/consumer.h"

#include "abi/stable.h"
#include "kmod/unwind.h"

#include <linux/capability.h>
#include <linux/cpumask.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#define DT_MAX_DOF (4u << 20) /* in bytes; limits the copy in kernel memory */
#define DT_MAX_ELEMENTS (1u << 20)
#define DT_MAX_NAMES (256u << 20)

bool dt_destructive;
module_param_named(destructive, dt_destructive, bool, 0644);
MODULE_PARM_DESC(destructive, "allow destructive actions in D programs that are run with dtrace -w");

struct dt_consumer *dt_consumer_make(void)
{
	struct dt_consumer *c = kzalloc(sizeof(*c), GFP_KERNEL_ACCOUNT);

	if (!c)
		return NULL;
	mutex_init(&c->lock);
	INIT_LIST_HEAD(&c->tracepoints);
	INIT_LIST_HEAD(&c->timers);
	INIT_LIST_HEAD(&c->counters);
	INIT_LIST_HEAD(&c->uprobes);
	return c;
}

void dt_consumer_free(struct dt_consumer *c)
{
	dt_unwind_free(c);
	vfree(c->arena);
	dt_memory_give(c, c->memory_bytes);
	kfree(c);
}

void dt_detach_all(struct dt_consumer *c)
{
	dt_timer_detach(c);
	dt_cpc_detach(c);
	dt_syscall_detach(c);
	dt_tracepoint_detach(c);
	dt_uprobe_detach(c);
	dt_fbt_detach(c);
}

/*
 * Checks the fields that the engine does not limit. Sets the fields that the
 * caller may not choose.
 */
static int dt_config_check(struct dt_arena_config *config)
{
	u64 may = config->options[DTRACEOPT_destructive];

	if (may != DT_OPT_UNSET && may && !READ_ONCE(dt_destructive))
		return -EACCES;
	if (may != DT_OPT_UNSET && may && !capable(CAP_SYS_ADMIN))
		return -EPERM; /* CAP_PERFMON permits observing processes, not changing them */
	if (config->options[DTRACEOPT_strsize] != DT_OPT_UNSET &&
	    config->options[DTRACEOPT_strsize] > DTK_MAX_STRSIZE)
		return -E2BIG;
	if (config->max_probes > 1u << 22 || config->max_ecbs > 1u << 23 ||
	    config->max_clauses > 1u << 18 || config->max_vars > 1u << 16 ||
	    config->heap_bytes > 1ull << 32 || config->globals_bytes > 1ull << 30 ||
	    config->locals_bytes > 1ull << 24)
		return -E2BIG;
	/*
	 * One shard per CPU, plus two spare shards. One spare shard replaces a
	 * shard that is being drained. The other replaces the shard of a thread
	 * that waits for a page (fire.c).
	 */
	config->n_shards = min(nr_cpu_ids + 2, (u32)DT_MAX_SHARDS);
	config->n_private = 0; /* no target maps the arena */
	config->n_parkable = 0;
	config->n_cpus = nr_cpu_ids;
	config->has_float = 0;
	config->has_kernel = 1;
	config->walltime = ktime_get_real_ns();
	return 0;
}

int dt_arena_make(struct dt_consumer *c, struct dtk_arena *a)
{
	int error = dt_config_check(&a->config);
	void *arena;

	if (error)
		return error;
	dt_arena_layout(&a->config, &a->program_bytes, &a->total_bytes);
	arena = dt_make_pages(c, a->total_bytes);
	if (!arena)
		return -ENOMEM;
	dt_arena_init(arena, &a->config);
	c->program_bytes = a->program_bytes;
	c->total_bytes = a->total_bytes;
	/* dt_map() reads c->arena without the mutex */
	smp_store_release(&c->arena, arena);
	return 0;
}

long dt_make_arena(struct dt_consumer *c, struct dtk_arena __user *user)
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

long dt_load_program(struct dt_consumer *c, struct dtk_load __user *user)
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
	dof = dt_copy_in(c, l->dof, l->bytes);
	if (IS_ERR(dof)) {
		kfree(l);
		return PTR_ERR(dof);
	}
	memset(&l->error, 0, sizeof(l->error));
	if (dt_load(c->arena, dof, l->bytes, &l->first_clause, &l->n_clauses, &l->error))
		error = -EINVAL;
	if (copy_to_user(user, l, sizeof(*l)))
		error = -EFAULT;
	dt_free(c, dof, l->bytes);
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

long dt_add_probes(struct dt_consumer *c, struct dtk_list *list)
{
	char *names;
	long error;

	if (list->bytes > DT_MAX_NAMES)
		return -E2BIG;
	if (!list->bytes)
		return list->n ? -EINVAL : 0;
	names = dt_copy_in(c, list->at, list->bytes);
	if (IS_ERR(names))
		return PTR_ERR(names);
	error = names[list->bytes - 1] ? -EINVAL
				       : dt_names_add(c, names, names + list->bytes, list->n,
						      &list->n_done);
	dt_free(c, names, list->bytes);
	return error;
}

long dt_add_ecbs(struct dt_consumer *c, struct dtk_list *list)
{
	const struct dt_arena *arena = c->arena;
	struct dtk_ecb *ecbs;
	long error = 0;
	u32 i;

	if (list->n > DT_MAX_ELEMENTS || list->bytes != list->n * sizeof(*ecbs))
		return -E2BIG;
	if (!list->n)
		return 0;
	ecbs = dt_copy_in(c, list->at, list->bytes);
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
	dt_free(c, ecbs, list->bytes);
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
	case DTK_STABLE_ROW: /* fbt.c attaches the rows that have a function */
		return dt_stable_tracepoint_attach(c, site, &dt_stables[site->where]);
	case DTK_PROFILE:
	case DTK_TICK:
		return dt_timer_attach(c, site);
	case DTK_CPC:
		return dt_cpc_attach(c, site);
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

/* Attaches consecutive fbt sites together, all other sites one by one. */
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
		if (fatal_signal_pending(current)) {
			sites[i].error = -EINTR;
			continue;
		}
		cond_resched();
		if (!dt_is_fbt(&sites[i])) {
			sites[i].error = dt_attach_one(c, &sites[i]);
			continue;
		}
		while (end < n && dt_is_site(arena, &sites[end]) && dt_is_fbt(&sites[end]))
			end++;
		dt_fbt_attach(c, sites + i, end - i);
	}
}

long dt_attach(struct dt_consumer *c, struct dtk_list *list)
{
	struct dtk_site *sites;
	long error = 0;
	u32 i;

	if (list->n > DT_MAX_ELEMENTS || list->bytes != list->n * sizeof(*sites))
		return -E2BIG;
	if (!list->n)
		return 0;
	sites = dt_copy_in(c, list->at, list->bytes);
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
	dt_free(c, sites, list->bytes);
	return error;
}
