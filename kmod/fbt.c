// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * fbt: the entry and return of kernel functions, by ftrace.
 *
 * A consumer has one ftrace_ops. Its callback finds the function in a table by the address
 * of the call that ftrace has put into it, and fires what is enabled there; how it hears of the
 * return is fbt_return.c's. A table that has become too small is replaced by one of
 * twice the size and kept until the consumer goes: a callback may still read it.
 *
 * ftrace itself knows which functions it cannot be put into; each is tried on an ops that
 * is never registered. Of this module no function is one: it is compiled without.
 */
#include "kmod/consumer.h"

#include "kmod/compat.h"

#include <linux/hash.h>
#include <linux/kallsyms.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

struct dt_function {
	unsigned long ip; /* 0: free */
	u32 entry, ret;	  /* probes, 0: none */
};

struct dt_functions {
	struct dt_functions *smaller; /* the one before */
	u32 bits, n;		      /* places, of which so many are taken */
	struct dt_function at[];
};

struct dt_fbt {
	struct ftrace_ops ops;
	struct dt_consumer *consumer;
	struct dt_functions *functions;
	bool registered;
};

static struct dt_function *dt_place(struct dt_functions *f, unsigned long ip)
{
	u32 mask = (1u << f->bits) - 1, i = hash_long(ip, f->bits);

	while (f->at[i].ip && f->at[i].ip != ip)
		i = (i + 1) & mask;
	return &f->at[i];
}

static void dt_fbt_fire(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *ops,
			struct ftrace_regs *fregs)
{
	struct dt_fbt *fbt = container_of(ops, struct dt_fbt, ops);
	const struct dt_function *function = dt_place(READ_ONCE(fbt->functions), ip);
	struct pt_regs *regs = dt_entry_regs(fregs);
	struct dt_context x = {};
	u64 args[6];
	u32 probe;

	probe = READ_ONCE(function->entry);
	if (probe) {
		args[0] = regs->di;
		args[1] = regs->si;
		args[2] = regs->dx;
		args[3] = regs->cx;
		args[4] = regs->r8;
		args[5] = regs->r9;
		x.frame = regs->sp;
		x.skip_frames = 1; /* itself */
		x.caller = parent_ip;
		x.in_stack_args = 1;
		dt_kfire(fbt->consumer, &x, probe, args, 6);
	}
	probe = READ_ONCE(function->ret);
	if (probe)
		dt_return_expect(fbt->consumer, probe, ip, regs);
}

static struct dt_functions *dt_functions_make(u32 bits, struct dt_functions *smaller)
{
	struct dt_functions *f = kvzalloc(struct_size(f, at, 1ull << bits), GFP_KERNEL);
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

/* Room for so many functions more, half of the places staying free. */
static int dt_functions_reserve(struct dt_fbt *fbt, u32 n_more)
{
	struct dt_functions *f = fbt->functions;
	u64 n = (f ? f->n : 0) + (u64)n_more;
	u32 bits = f ? f->bits : 4;

	while (1ull << bits < 2 * n)
		bits++;
	if (f && bits == f->bits)
		return 0;
	f = dt_functions_make(bits, f);
	if (!f)
		return -ENOMEM;
	smp_store_release(&fbt->functions, f);
	return 0;
}

/* Where ftrace's call is: behind the endbr, if there is one. */
static unsigned long dt_call_site(unsigned long function)
{
	u32 first = 0;

	copy_from_kernel_nofault(&first, (void *)function, sizeof(first));
	return first == 0xfa1e0ff3 ? function + 4 : function;
}

/* Can ftrace be put there? */
static int dt_try(struct ftrace_ops *trial, unsigned long ip)
{
	unsigned long at = ip;

	return ftrace_set_filter_ips(trial, &at, 1, 0, 1);
}

static void dt_fbt_nothing(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *ops,
			   struct ftrace_regs *fregs)
{
}

static struct dt_fbt *dt_fbt_make(struct dt_consumer *c)
{
	struct dt_fbt *fbt = kzalloc(sizeof(*fbt), GFP_KERNEL);

	if (!fbt)
		return NULL;
	fbt->ops.func = dt_fbt_fire;
	fbt->ops.flags = FTRACE_OPS_FL_RECURSION; /* dt_kfire() looks after that */
	fbt->consumer = c;
	return fbt;
}

static void dt_function_set(struct dt_fbt *fbt, const struct dtk_site *site, unsigned long ip)
{
	struct dt_function *function = dt_place(fbt->functions, ip);

	WRITE_ONCE(*(site->kind == DTK_FBT_ENTRY ? &function->entry : &function->ret),
		   site->probe);
	if (!function->ip) {
		fbt->functions->n++;
		smp_store_release(&function->ip, ip);
	}
}

/* Those that can be traced: their call sites into ips, how many. */
static u32 dt_fbt_choose(struct dt_fbt *fbt, struct dtk_site *sites, u32 n,
			 unsigned long *ips)
{
	struct ftrace_ops *trial = kzalloc(sizeof(*trial), GFP_KERNEL);
	u32 i, n_chosen = 0;

	if (trial)
		trial->func = dt_fbt_nothing;
	for (i = 0; i < n; i++) {
		unsigned long ip = dt_call_site(sites[i].where);

		sites[i].error = trial ? dt_try(trial, ip) : -ENOMEM;
		if (!sites[i].error) {
			dt_function_set(fbt, &sites[i], ip);
			ips[n_chosen++] = ip;
		}
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
		if (sites[i].kind == DTK_FBT_RETURN)
			error = dt_returns_join(c);
	if (!c->fbt)
		c->fbt = dt_fbt_make(c);
	ips = kvmalloc_array(n, sizeof(*ips), GFP_KERNEL);
	if (!error && (!c->fbt || !ips || dt_functions_reserve(c->fbt, n)))
		error = -ENOMEM;
	if (!error) {
		n_ips = dt_fbt_choose(c->fbt, sites, n, ips);
		if (n_ips)
			error = dt_fbt_start(c->fbt, ips, n_ips);
	}
	for (i = 0; i < n && error; i++)
		if (!sites[i].error)
			sites[i].error = error;
	kvfree(ips);
}

void dt_fbt_detach(struct dt_consumer *c)
{
	struct dt_functions *f, *next;

	if (!c->fbt)
		return;
	if (c->fbt->registered)
		unregister_ftrace_function(&c->fbt->ops);
	dt_returns_leave(c);
	ftrace_free_filter(&c->fbt->ops);
	for (f = c->fbt->functions; f; f = next) {
		next = f->smaller;
		kvfree(f);
	}
	kfree(c->fbt);
	c->fbt = NULL;
}
