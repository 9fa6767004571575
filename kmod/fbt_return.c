// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Fires probes when functions return.
 *
 * The kernel replaces return addresses for kretprobes, and its unwinder
 * supports that. A kretprobe for each function would need too much memory. So
 * there is only one kretprobe (dt_hook), on a function that is never called.
 * The ftrace callback of a traced function calls the kretprobe's handler, which
 * replaces the return address. The instances of the kretprobe are a pool for
 * all consumers. If the pool is empty, or RCU is not watching, the return is
 * counted as lost.
 *
 * The functions that run for this kretprobe must not be traced themselves.
 * Otherwise each of them would start the kretprobe again, until the stack is
 * full. Three rules prevent this.
 *
 *   - Functions that kprobes must not probe are not traced (symbols.c). The
 *     kernel calls our handler through such functions.
 *   - While our handler runs or a return address is being replaced, this CPU is
 *     marked as being in a probe.
 *   - A return address is not replaced if little of the thread's stack is free.
 *     In this case, the return is counted as lost.
 *
 * A function can return long after its consumer has been closed. So the
 * instance refers to the consumer by a slot and the slot's generation.
 */
#include "kmod/consumer.h"

#include "abi/stable.h"

#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/sched/task_stack.h>
#include <linux/string.h>

static unsigned int returns = 16384;
module_param(returns, uint, 0444);
MODULE_PARM_DESC(returns, "maximum number of calls in progress whose returns are traced (default 16384)");

#define DT_SLOTS 1024
#define DT_RETURN_ARGS 5 /* arguments that are saved at a function's entry */

static struct dt_slot_of_consumer {
	struct dt_consumer *consumer;
	u32 generation;
} dt_joined[DT_SLOTS];
static DEFINE_MUTEX(dt_joining);
static bool dt_ready;

struct dt_pending {
	u32 slot, generation;
	u32 probe;
	u32 taken;
	const struct dt_stable *row;
	u64 args[DT_RETURN_ARGS];
};

static DEFINE_PER_CPU(struct dt_pending *, dt_entered);

/*
 * The function contains jumps into its own first bytes. The kernel therefore
 * does not replace the kretprobe's breakpoint with an optimised jump. Such a
 * jump would remain for a moment after the module is unloaded.
 */
static noinline void dt_never_called(void)
{
	asm volatile("1: nop\n2: nop\nnop; nop; nop; nop; nop; nop\njz 1b\njz 2b");
}

static int dt_entering(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct dt_pending *pending = this_cpu_read(dt_entered);

	/* Trace no return if dt_return_expect() is not the caller. */
	if (!pending)
		return 1;
	pending->taken = 1;
	*(struct dt_pending *)instance->data = *pending;
	return 0;
}

/* Fires a return probe. The CPU is already marked as being in a probe. */
static void dt_fire_return(struct dt_consumer *c, struct kretprobe_instance *instance,
			   const struct dt_pending *pending, const struct pt_regs *regs)
{
	struct dt_context x = {};
	u64 args[1 + DT_RETURN_ARGS], chosen[DT_STABLE_ARGS];
	int n = 2;

	/* arg0 of an fbt return is the offset of the ret, which is unknown. */
	args[0] = 0;
	args[1] = regs->ax;
	if (pending->row) {
		args[0] = regs->ax;
		memcpy(&args[1], pending->args, sizeof(pending->args));
		n = pending->row->choose(args, chosen);
	}
	if (n < 0)
		return;
	x.frame = regs->sp - 2; /* less than the caller's sp, see stack.c */
	x.caller = get_kretprobe_retaddr(instance);
	dt_kfire_held(c, &x, pending->probe, pending->row ? chosen : args, n);
}

static int dt_returned(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	const struct dt_pending *pending = (struct dt_pending *)instance->data;
	const struct dt_slot_of_consumer *slot = &dt_joined[pending->slot];
	struct dt_consumer *c = smp_load_acquire(&slot->consumer);
	unsigned long flags;

	if (!c || READ_ONCE(slot->generation) != pending->generation)
		return 0;
	if (dt_firing_begin(c, &flags)) {
		dt_fire_return(c, instance, pending, regs);
		dt_firing_end(flags);
	}
	return 0;
}

static struct kretprobe dt_hook = {
	.kp.addr = (kprobe_opcode_t *)dt_never_called,
	.handler = dt_returned,
	.entry_handler = dt_entering,
	.data_size = sizeof(struct dt_pending),
};

/*
 * A return is traced only if at least this many bytes of the stack are free. A
 * return through the kretprobe (dt_hook) needs about 500 bytes.
 */
#define DT_STACK_LEFT 3072

/*
 * Returns whether less than DT_STACK_LEFT bytes of the thread's stack are free.
 * Does not check interrupt stacks, because modules do not know their addresses.
 */
static bool dt_stack_is_short(unsigned long sp)
{
	unsigned long left = sp - (unsigned long)task_stack_page(current);

	return left < DT_STACK_LEFT;
}

void dt_return_expect(struct dt_consumer *c, u32 probe, const struct dt_stable *row,
		      struct pt_regs *regs)
{
	struct dt_pending pending = {c->slot, c->generation, probe, 0, row,
				     {regs->di, regs->si, regs->dx, regs->cx, regs->r8}};
	unsigned long flags;

	if (!dt_firing_begin(c, &flags))
		return;
	/* The kretprobe cannot be used when RCU is not watching. */
	if (rcu_is_watching() && !dt_stack_is_short(regs->sp)) {
		this_cpu_write(dt_entered, &pending);
		dt_hook.kp.pre_handler(&dt_hook.kp, regs);
		this_cpu_write(dt_entered, NULL);
	}
	if (!pending.taken)
		dt_lost(c, DTRACEDROP_RETURN);
	dt_firing_end(flags);
}

static int dt_hook_make(void)
{
	int error;

	if (dt_ready)
		return 0;
	dt_hook.maxactive = (int)clamp(returns, 64u, 1u << 20);
	error = register_kretprobe(&dt_hook);
	dt_ready = !error;
	return error;
}

/*
 * Assigns an entry of dt_joined[] to the consumer. Returns 0 or a negative
 * errno.
 */
int dt_returns_join(struct dt_consumer *c)
{
	u32 i;
	int error;

	if (c->generation)
		return 0;
	mutex_lock(&dt_joining);
	error = dt_hook_make();
	for (i = 0; !error && i < DT_SLOTS && dt_joined[i].consumer; i++)
		;
	if (!error && i == DT_SLOTS)
		error = -EUSERS;
	if (!error) {
		c->slot = i;
		c->generation = ++dt_joined[i].generation;
		smp_store_release(&dt_joined[i].consumer, c);
	}
	mutex_unlock(&dt_joining);
	return error;
}

void dt_returns_leave(struct dt_consumer *c)
{
	if (!c->generation)
		return;
	mutex_lock(&dt_joining);
	WRITE_ONCE(dt_joined[c->slot].consumer, NULL);
	mutex_unlock(&dt_joining);
	/* wait for handlers that use c, which run with preemption off */
	synchronize_rcu();
	c->generation = 0;
}

void dt_returns_end(void)
{
	if (dt_ready)
		unregister_kretprobe(&dt_hook);
}
