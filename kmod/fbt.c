// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Implements the fbt provider (the entry and return of kernel functions) with
 * ftrace.
 *
 * The kernel's functions begin with a nop of five bytes, which ftrace replaces
 * with a call. A consumer has one ftrace_ops and a table of functions. The
 * callback looks up the address of ftrace's call in the table, and fires the
 * function's probes. A larger table replaces a table that is too small. The old
 * table is kept until the consumer is freed, because a callback may still read
 * it.
 *
 * Probes in a kernel module are detached when the module is unloaded.
 *
 * Only ftrace knows which functions it can trace. So dt_try() tries to add each
 * function to the filter of a struct ftrace_ops that is never registered.
 * Functions that kprobes must not probe are refused too (symbols.c). This
 * module is compiled without ftrace's nops, so its functions cannot be traced.
 */
#include "kmod/consumer.h"

#include "kmod/compat.h"
#include "abi/stable.h"
#include "kmod/symbols.h"

#include <linux/hash.h>
#include <linux/kallsyms.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

struct dt_function {
	unsigned long ip; /* address of ftrace's call; 0 if the entry is free */
	u32 entry, ret;	  /* ids of the fbt probes; 0 if there is no probe */
	struct dt_place_of_stable *stable;
};

/*
 * The maximum number of stable probes (abi/stable.h) of a function. Each call
 * of the function tests all of them.
 */
#define DT_STABLES_OF_FUNCTION 64

struct dt_functions {
	struct dt_functions *smaller; /* the previous table */
	/* log2 of the size, and the number of used entries */
	u32 bits, n;
	struct dt_function at[];
};

struct dt_fbt {
	struct ftrace_ops ops;
	struct dt_consumer *consumer;
	struct dt_functions *functions;
	bool registered;
	struct list_head list; /* in dt_fbts */
};

/*
 * The tables of all consumers. The lock protects tables while modules are
 * unloaded. Take a consumer's mutex before this lock.
 */
static LIST_HEAD(dt_fbts);
static DEFINE_MUTEX(dt_fbts_lock);

static struct dt_function *dt_place(struct dt_functions *f, unsigned long ip)
{
	u32 mask = (1u << f->bits) - 1, i = hash_long(ip, f->bits);

	while (f->at[i].ip && f->at[i].ip != ip)
		i = (i + 1) & mask;
	return &f->at[i];
}

static void dt_fire_here(struct dt_fbt *fbt, u32 probe, unsigned long parent_ip,
			 const struct pt_regs *regs, const u64 *args, u32 n_args)
{
	struct dt_context x = {};

	x.frame = regs->sp; /* the caller's frame is above this address */
	x.caller = parent_ip;
	x.in_stack_args = 1;
	dt_kfire(fbt->consumer, &x, probe, args, n_args);
}

static void dt_fire_stable(struct dt_fbt *fbt, const struct dt_place_of_stable *place,
			   unsigned long parent_ip, struct pt_regs *regs, const u64 *args)
{
	u32 probe = READ_ONCE(place->probe);
	u64 chosen[DT_STABLE_ARGS];
	int n;

	if (!probe)
		return;
	if (place->row->how == DTK_STABLE_RETURNS) {
		dt_return_expect(fbt->consumer, probe, place->row, regs);
		return;
	}
	n = place->row->choose(args, chosen);
	if (n >= 0)
		dt_fire_here(fbt, probe, parent_ip, regs, chosen, n);
}

static void dt_fbt_fire(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *ops,
			struct ftrace_regs *fregs)
{
	struct dt_fbt *fbt = container_of(ops, struct dt_fbt, ops);
	const struct dt_function *function = dt_place(READ_ONCE(fbt->functions), ip);
	const struct dt_place_of_stable *stable;
	struct pt_regs *regs = dt_entry_regs(fregs);
	u64 args[6] = {regs->di, regs->si, regs->dx, regs->cx, regs->r8, regs->r9};
	u32 probe;

	probe = READ_ONCE(function->entry);
	if (probe)
		dt_fire_here(fbt, probe, parent_ip, regs, args, 6);
	for (stable = READ_ONCE(function->stable); stable; stable = stable->next)
		dt_fire_stable(fbt, stable, parent_ip, regs, args);
	probe = READ_ONCE(function->ret);
	if (probe)
		dt_return_expect(fbt->consumer, probe, NULL, regs);
}

static struct dt_functions *dt_functions_make(struct dt_consumer *c, u32 bits,
					      struct dt_functions *smaller)
{
	struct dt_functions *f = dt_make(c, struct_size(f, at, 1ull << bits));
	u32 i;

	if (!f)
		return NULL;
	f->bits = bits;
	f->smaller = smaller;
	for (i = 0; smaller && i < 1u << smaller->bits; i++) {
		if (!smaller->at[i].ip)
			continue;
		*dt_place(f, smaller->at[i].ip) = smaller->at[i];
		f->n++;
	}
	return f;
}

/*
 * Reserves entries for n_more functions, and keeps at least a quarter of all
 * entries free. Returns 0 or -ENOMEM.
 */
static int dt_functions_reserve(struct dt_fbt *fbt, u32 n_more)
{
	struct dt_functions *f = fbt->functions;
	u64 n = (f ? f->n : 0) + (u64)n_more;
	u32 bits = f ? f->bits : 4;

	while (3ull << bits < 4 * n)
		bits++;
	if (f && bits == f->bits)
		return 0;
	f = dt_functions_make(fbt->consumer, bits, f);
	if (!f)
		return -ENOMEM;
	smp_store_release(&fbt->functions, f);
	return 0;
}

/*
 * Returns whether these five bytes are ftrace's nop, or a call if the function
 * is traced already.
 */
static bool dt_is_call_site(const u8 *code)
{
	static const u8 nop[] = {0x0f, 0x1f, 0x44, 0x00, 0x00};

	return !memcmp(code, nop, sizeof(nop)) || *code == 0xe8;
}

/*
 * Returns the address of the instruction that ftrace replaces in a function. It
 * may follow an endbr64, or the bytes with which the kernel has replaced the
 * endbr64.
 */
static unsigned long dt_call_site(unsigned long function)
{
	u8 code[4 + 5] = {};

	copy_from_kernel_nofault(code, (void *)function, sizeof(code));
	return !dt_is_call_site(code) && dt_is_call_site(code + 4) ? function + 4 : function;
}

/*
 * Returns 0 if the function at ip can be traced, -EPERM if it must not be
 * traced (symbols.c), or ftrace's error.
 */
static int dt_try(struct ftrace_ops *trial, unsigned long ip)
{
	unsigned long at = ip;
	int error = ftrace_set_filter_ips(trial, &at, 1, 0, 1);

	return !error && dt_is_forbidden(ip) ? -EPERM : error;
}

static void dt_fbt_nothing(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *ops,
			   struct ftrace_regs *fregs)
{
}

static struct dt_fbt *dt_fbt_make(struct dt_consumer *c)
{
	struct dt_fbt *fbt = kzalloc(sizeof(*fbt), GFP_KERNEL_ACCOUNT);

	if (!fbt)
		return NULL;
	fbt->ops.func = dt_fbt_fire;
	/* dt_kfire() prevents recursion */
	fbt->ops.flags = FTRACE_OPS_FL_RECURSION;
	fbt->consumer = c;
	mutex_lock(&dt_fbts_lock);
	list_add(&fbt->list, &dt_fbts);
	mutex_unlock(&dt_fbts_lock);
	return fbt;
}

static int dt_stable_set(struct dt_consumer *c, struct dt_function *function,
			 const struct dtk_site *site)
{
	const struct dt_stable *row = &dt_stables[site->where];
	struct dt_place_of_stable *place;
	u32 n = 0;

	for (place = function->stable; place; place = place->next) {
		if (!place->probe && place->row == row) {
			WRITE_ONCE(place->probe, site->probe);
			return 0;
		}
		n++;
	}
	if (n == DT_STABLES_OF_FUNCTION)
		return -EUSERS;
	place = dt_make(c, sizeof(*place));
	if (!place)
		return -ENOMEM;
	place->row = row;
	place->probe = site->probe;
	place->next = function->stable;
	smp_store_release(&function->stable, place);
	return 0;
}

static int dt_function_set(struct dt_fbt *fbt, const struct dtk_site *site, unsigned long ip)
{
	struct dt_function *function = dt_place(fbt->functions, ip);
	int error = 0;

	if (site->kind == DTK_STABLE_ROW)
		error = dt_stable_set(fbt->consumer, function, site);
	else
		WRITE_ONCE(*(site->kind == DTK_FBT_ENTRY ? &function->entry : &function->ret),
			   site->probe);
	if (!function->ip && !error) {
		fbt->functions->n++;
		smp_store_release(&function->ip, ip);
	}
	return error;
}

static unsigned long dt_address_of(const struct dtk_site *site)
{
	return site->kind == DTK_STABLE_ROW ? site->more : site->where;
}

static bool dt_has_return(const struct dtk_site *site)
{
	return site->kind == DTK_FBT_RETURN ||
	       (site->kind == DTK_STABLE_ROW &&
		dt_stables[site->where].how == DTK_STABLE_RETURNS);
}

/*
 * Adds each site that ftrace can trace to the table of functions, and stores an
 * error in all other sites. Stores in ips the addresses that ftrace traces.
 * Returns the number of these addresses.
 */
static u32 dt_fbt_choose(struct dt_fbt *fbt, struct dtk_site *sites, u32 n,
			 unsigned long *ips)
{
	struct ftrace_ops *trial = kzalloc(sizeof(*trial), GFP_KERNEL);
	u32 i, n_chosen = 0;

	if (trial)
		trial->func = dt_fbt_nothing;
	for (i = 0; i < n; i++) {
		unsigned long ip = dt_call_site(dt_address_of(&sites[i]));

		if (fatal_signal_pending(current))
			sites[i].error = -EINTR;
		else
			sites[i].error = trial ? dt_try(trial, ip) : -ENOMEM;
		if (!sites[i].error)
			sites[i].error = dt_function_set(fbt, &sites[i], ip);
		if (!sites[i].error)
			ips[n_chosen++] = ip;
	}
	if (trial)
		ftrace_free_filter(trial);
	kfree(trial);
	return n_chosen;
}

static int dt_fbt_start(struct dt_fbt *fbt, unsigned long *ips, u32 n)
{
	int error = ftrace_set_filter_ips(&fbt->ops, ips, n, 0, 0);

	if (error || fbt->registered)
		return error;
	error = register_ftrace_function(&fbt->ops);
	fbt->registered = !error;
	return error;
}

void dt_fbt_attach(struct dt_consumer *c, struct dtk_site *sites, u32 n)
{
	unsigned long *ips;
	int error = 0;
	u32 i, n_ips;

	for (i = 0; i < n && !error; i++)
		if (dt_has_return(&sites[i]))
			error = dt_returns_join(c);
	if (!c->fbt)
		c->fbt = dt_fbt_make(c);
	ips = dt_make(c, n * sizeof(*ips));
	mutex_lock(&dt_fbts_lock);
	if (!error && (!c->fbt || !ips || dt_functions_reserve(c->fbt, n)))
		error = -ENOMEM;
	if (!error)
		error = dt_forbidden_read();
	if (!error) {
		n_ips = dt_fbt_choose(c->fbt, sites, n, ips);
		if (n_ips)
			error = dt_fbt_start(c->fbt, ips, n_ips);
	}
	mutex_unlock(&dt_fbts_lock);
	for (i = 0; i < n && error; i++)
		if (!sites[i].error)
			sites[i].error = error;
	dt_free(c, ips, n * sizeof(*ips));
}

/*
 * Frees the stable probes of all functions. They are all in the newest table.
 */
static void dt_free_stables(struct dt_consumer *c, struct dt_functions *f)
{
	struct dt_place_of_stable *place, *next;
	u32 i;

	for (i = 0; f && i < 1u << f->bits; i++)
		for (place = f->at[i].stable; place; place = next) {
			next = place->next;
			dt_free(c, place, sizeof(*place));
		}
}

void dt_fbt_detach(struct dt_consumer *c)
{
	struct dt_functions *f, *next;

	if (!c->fbt) {
		/*
		 * dt_returns_join() may have succeeded before dt_fbt_make()
		 * failed
		 */
		dt_returns_leave(c);
		return;
	}
	mutex_lock(&dt_fbts_lock);
	list_del(&c->fbt->list);
	mutex_unlock(&dt_fbts_lock);
	if (c->fbt->registered)
		unregister_ftrace_function(&c->fbt->ops);
	dt_returns_leave(c);
	ftrace_free_filter(&c->fbt->ops);
	dt_free_stables(c, c->fbt->functions);
	for (f = c->fbt->functions; f; f = next) {
		next = f->smaller;
		dt_free(c, f, struct_size(f, at, 1ull << f->bits));
	}
	kfree(c->fbt);
	c->fbt = NULL;
}

/*
 * Detaches the probes of a kernel module. A callback may still read the
 * functions and the stable probes, so their memory is kept.
 */
static void dt_leave_module(struct dt_fbt *fbt, const struct module *mod)
{
	struct dt_functions *f = fbt->functions;
	u32 i;

	for (i = 0; f && i < 1u << f->bits; i++) {
		struct dt_function *function = &f->at[i];
		struct dt_place_of_stable *place;
		unsigned long ip = function->ip;

		if (!ip || !within_module(ip, mod))
			continue;
		WRITE_ONCE(function->entry, 0);
		WRITE_ONCE(function->ret, 0);
		for (place = function->stable; place; place = place->next)
			WRITE_ONCE(place->probe, 0);
		ftrace_set_filter_ips(&fbt->ops, &ip, 1, 1, 0);
	}
}

static int dt_fbt_module_event(struct notifier_block *block, unsigned long event, void *data)
{
	struct dt_fbt *fbt;

	dt_forbidden_changed();
	if (event != MODULE_STATE_GOING)
		return NOTIFY_DONE;
	mutex_lock(&dt_fbts_lock);
	list_for_each_entry(fbt, &dt_fbts, list)
		dt_leave_module(fbt, data);
	mutex_unlock(&dt_fbts_lock);
	return NOTIFY_OK;
}

static struct notifier_block dt_fbt_modules = {.notifier_call = dt_fbt_module_event};

int dt_fbt_begin(void)
{
	return register_module_notifier(&dt_fbt_modules);
}

void dt_fbt_end(void)
{
	unregister_module_notifier(&dt_fbt_modules);
}
