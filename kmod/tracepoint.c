// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Implements the sdt provider, whose probes are the kernel's tracepoints, and
 * finds tracepoints by name.
 *
 * Our callback has ten parameters of one word for the tracepoint's arguments.
 * C's calling convention passes them in the same registers and stack slots for
 * any number of arguments. If a tracepoint has fewer arguments, the remaining
 * words are arbitrary, but the probe does not have args[] for them.
 *
 * Our notifier keeps a list of the modules with tracepoints, and removes our
 * callbacks before a module is unloaded.
 */
#include "kmod/consumer.h"

#include "abi/stable.h"
#include "kmod/waits.h"

#include <linux/list.h>
#include <linux/module.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <linux/uaccess.h>

struct dt_tracepoint {
	struct list_head of_consumer, of_all;
	struct dt_consumer *consumer;
	struct tracepoint *tp; /* null if its module has been unloaded */
	const struct dt_stable *row; /* null if the probe is an sdt probe */
	u64 widths;
	u32 probe;
};

struct dt_module {
	struct list_head list;
	struct module *mod;
};

static LIST_HEAD(dt_modules);
static LIST_HEAD(dt_all);
static DEFINE_MUTEX(dt_tracepoints_lock); /* taken after a consumer's mutex */

static u64 dt_narrow(u64 value, u32 how)
{
	switch (how) {
	case DTK_ARG_U8:
		return (u8)value;
	case DTK_ARG_U16:
		return (u16)value;
	case DTK_ARG_U32:
		return (u32)value;
	case DTK_ARG_S8:
		return (u64)(s8)value;
	case DTK_ARG_S16:
		return (u64)(s16)value;
	case DTK_ARG_S32:
		return (u64)(s32)value;
	default:
		return value;
	}
}

static void dt_tracepoint_fire(void *data, u64 a0, u64 a1, u64 a2, u64 a3, u64 a4, u64 a5,
			       u64 a6, u64 a7, u64 a8, u64 a9)
{
	struct dt_tracepoint *t = data;
	u64 args[DTK_ARGS_MAX] = {a0, a1, a2, a3, a4, a5, a6, a7, a8, a9};
	struct dt_context x = {};
	u64 chosen[DT_STABLE_ARGS];
	int n = DTK_ARGS_MAX;
	u32 i;

	for (i = 0; t->widths >> (4 * i); i++)
		args[i] = dt_narrow(args[i], t->widths >> (4 * i) & 15);
	if (t->row)
		n = t->row->choose(args, chosen);
	if (n < 0)
		return;
	x.skip_begin = (unsigned long)t->tp->iterator;
	x.skip_end = x.skip_begin + 256;
	dt_kfire(t->consumer, &x, t->probe, t->row ? chosen : args, n);
}

struct dt_search {
	const char *name;
	struct tracepoint *found;
};

static void dt_look(struct tracepoint *tp, void *search)
{
	struct dt_search *s = search;

	if (!strcmp(tp->name, s->name))
		s->found = tp;
}

static void dt_look_in(struct module *mod, struct dt_search *s)
{
	unsigned int i;

	for (i = 0; i < mod->num_tracepoints; i++)
		dt_look(tracepoint_ptr_deref(&mod->tracepoints_ptrs[i]), s);
}

struct tracepoint *dt_tracepoint_find(const char *name)
{
	struct dt_search s = {name, NULL};
	struct dt_module *m;

	for_each_kernel_tracepoint(dt_look, &s);
	if (s.found)
		return s.found;
	list_for_each_entry(m, &dt_modules, list)
		dt_look_in(m->mod, &s);
	return s.found;
}

static bool dt_reads_waits(const struct dt_tracepoint *t)
{
	return t->row && dt_waits_are_for(t->row);
}

/*
 * The maximum number of callbacks that a consumer may add to one tracepoint.
 * Each firing calls all callbacks, and the kernel copies their array at each
 * change.
 */
#define DT_OF_TRACEPOINT 64
#define DT_TRACEPOINTS 16384 /* per consumer */

static bool dt_are_too_many(const struct dt_consumer *c, const struct tracepoint *tp)
{
	const struct dt_tracepoint *t;
	u32 n = 0, n_here = 0;

	list_for_each_entry(t, &c->tracepoints, of_consumer) {
		n++;
		n_here += t->tp == tp;
	}
	return n >= DT_TRACEPOINTS || n_here >= DT_OF_TRACEPOINT;
}

static int dt_tracepoint_add(struct dt_consumer *c, const struct dtk_site *site,
			     const char *name, const struct dt_stable *row)
{
	struct dt_tracepoint *t = dt_make(c, sizeof(*t));
	int error;

	if (!t)
		return -ENOMEM;
	t->consumer = c;
	t->probe = site->probe;
	t->row = row;
	t->widths = row ? 0 : site->more & ((1ull << 4 * DTK_ARGS_MAX) - 1);
	t->tp = dt_tracepoint_find(name);
	error = t->tp ? 0 : -ENOENT;
	if (!error && dt_are_too_many(c, t->tp))
		error = -EUSERS;
	if (!error && dt_reads_waits(t))
		error = dt_waits_watch();
	if (!error) {
		error = tracepoint_probe_register(t->tp, (void *)dt_tracepoint_fire, t);
		if (error && dt_reads_waits(t))
			dt_waits_leave();
	}
	if (error) {
		dt_free(c, t, sizeof(*t));
		return error;
	}
	list_add(&t->of_consumer, &c->tracepoints);
	list_add(&t->of_all, &dt_all);
	return 0;
}

int dt_tracepoint_attach(struct dt_consumer *c, const struct dtk_site *site)
{
	char name[DTK_NAME_MAX];
	long n = strncpy_from_user(name, (const char __user *)site->where, sizeof(name));

	if (n < 0)
		return (int)n;
	if (n == sizeof(name))
		return -ENAMETOOLONG;
	return dt_tracepoint_attach_named(c, site, name);
}

int dt_tracepoint_attach_named(struct dt_consumer *c, const struct dtk_site *site,
			       const char *name)
{
	int error;

	mutex_lock(&dt_tracepoints_lock);
	error = dt_tracepoint_add(c, site, name, NULL);
	mutex_unlock(&dt_tracepoints_lock);
	return error;
}

int dt_stable_tracepoint_attach(struct dt_consumer *c, const struct dtk_site *site,
				const struct dt_stable *row)
{
	int error;

	mutex_lock(&dt_tracepoints_lock);
	error = dt_tracepoint_add(c, site, row->source, row);
	mutex_unlock(&dt_tracepoints_lock);
	return error;
}

static void dt_take_off(struct dt_tracepoint *t)
{
	if (t->tp)
		tracepoint_probe_unregister(t->tp, (void *)dt_tracepoint_fire, t);
}

void dt_tracepoint_detach(struct dt_consumer *c)
{
	struct dt_tracepoint *t, *next;

	mutex_lock(&dt_tracepoints_lock);
	list_for_each_entry(t, &c->tracepoints, of_consumer) {
		dt_take_off(t);
		if (dt_reads_waits(t))
			dt_waits_leave();
		list_del(&t->of_all);
	}
	mutex_unlock(&dt_tracepoints_lock);
	if (!list_empty(&c->tracepoints))
		tracepoint_synchronize_unregister();
	list_for_each_entry_safe(t, next, &c->tracepoints, of_consumer) {
		list_del(&t->of_consumer);
		dt_free(c, t, sizeof(*t));
	}
}

static bool dt_lies_in(const struct module *mod, const struct tracepoint *tp)
{
	unsigned int i;

	for (i = 0; i < mod->num_tracepoints; i++)
		if (tracepoint_ptr_deref(&mod->tracepoints_ptrs[i]) == tp)
			return true;
	return false;
}

static void dt_module_goes(struct module *mod)
{
	struct dt_module *m, *next;
	struct dt_tracepoint *t;
	bool any = false;

	list_for_each_entry(t, &dt_all, of_all) {
		if (!t->tp || !dt_lies_in(mod, t->tp))
			continue;
		dt_take_off(t);
		any = true;
	}
	if (any)
		tracepoint_synchronize_unregister();
	list_for_each_entry(t, &dt_all, of_all)
		if (t->tp && dt_lies_in(mod, t->tp))
			t->tp = NULL;
	list_for_each_entry_safe(m, next, &dt_modules, list) {
		if (m->mod != mod)
			continue;
		list_del(&m->list);
		kfree(m);
	}
}

static int dt_module_event(struct notifier_block *block, unsigned long event, void *data)
{
	struct tp_module *tp_mod = data;
	struct dt_module *m;

	mutex_lock(&dt_tracepoints_lock);
	if (event == MODULE_STATE_COMING) {
		m = kzalloc(sizeof(*m), GFP_KERNEL);
		if (m) {
			m->mod = tp_mod->mod;
			list_add(&m->list, &dt_modules);
		} else {
			pr_warn("dtrace: the tracepoints of module %s cannot be probed: out of memory\n",
				tp_mod->mod->name);
		}
	} else if (event == MODULE_STATE_GOING) {
		dt_module_goes(tp_mod->mod);
	}
	mutex_unlock(&dt_tracepoints_lock);
	return NOTIFY_OK;
}

static struct notifier_block dt_modules_notifier = {.notifier_call = dt_module_event};

int dt_tracepoints_begin(void)
{
	return register_tracepoint_module_notifier(&dt_modules_notifier);
}

void dt_tracepoints_end(void)
{
	struct dt_module *m, *next;

	unregister_tracepoint_module_notifier(&dt_modules_notifier);
	list_for_each_entry_safe(m, next, &dt_modules, list)
		kfree(m);
}
