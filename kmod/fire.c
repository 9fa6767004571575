// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Fires probes in the kernel. A consumer has one shard for each CPU and two
 * spare shards, but at most DT_MAX_SHARDS in total. Interrupts are off while a
 * shard is used, except while a thread waits for a page.
 *
 * A probe that fires while its CPU is already in a probe is not run. If the
 * probe fired in an NMI, a drop is counted. Otherwise the engine itself called
 * the probed function, so nothing is lost.
 *
 * A thread that reaches a uprobe holds no locks, so it can wait for a page that
 * the D program reads (bring_in.c). During the wait, its shard stays in use,
 * and probes on the CPU of this shard use a spare shard. So at most
 * DT_MAX_WAITING threads of a consumer may wait at a time. For any other
 * thread, the page is an invalid address.
 */
#include "kmod/consumer.h"

#include "dif/mem.h"

#include <linux/hardirq.h>
#include <linux/irqflags.h>
#include <linux/percpu.h>
#include <linux/sched.h>

static DEFINE_PER_CPU(int, dt_firing);

void dt_lost(struct dt_consumer *c, enum dif_drop why)
{
	const struct dt_arena *arena = c->arena;
	struct dt_session *session = dt_at(c->arena, arena->session);

	dt_count(&session->drops[why]);
}

/*
 * self-> variables belong to the thread. Each kind of interrupt in a thread has
 * its own variables. The idle threads of all CPUs have pid 0, so their
 * variables belong to the CPU.
 */
void dt_identify(struct dt_host *host)
{
	u64 level = in_nmi() ? 3 : in_hardirq() ? 2 : in_serving_softirq() ? 1 : 0;
	u64 tid = current->pid ? (u64)current->pid : DTK_OWNER_OF_CPU(host->cpu);

	host->thread_key = level << 54 | (u64)current->tgid << 32 | tid;
}

#define DT_MAX_WAITING 1
#define DT_MAX_BROUGHT_IN (1u << 20)

bool dt_fault_in(struct dt_context *x, u64 addr, u64 bytes)
{
	bool there = false;

	if (!x->may_wait || addr >= TASK_SIZE_MAX || bytes > DT_MAX_BROUGHT_IN)
		return false;
	x->may_wait--;
	x->waited = 1;
	if (atomic_inc_return(&x->consumer->n_waiting) <= DT_MAX_WAITING) {
		this_cpu_write(dt_firing, 0);
		barrier();
		raw_local_irq_enable();
		there = dt_bring_in(addr, bytes);
		raw_local_irq_disable();
		barrier();
		this_cpu_write(dt_firing, 1);
	}
	atomic_dec(&x->consumer->n_waiting);
	return there;
}

bool dt_firing_begin(struct dt_consumer *c, unsigned long *flags)
{
	raw_local_irq_save(*flags);
	if (this_cpu_read(dt_firing)) {
		if (in_nmi())
			dt_lost(c, DTRACEDROP_NMI);
		raw_local_irq_restore(*flags);
		return false;
	}
	this_cpu_write(dt_firing, 1);
	barrier();
	return true;
}

void dt_firing_end(unsigned long flags)
{
	barrier();
	this_cpu_write(dt_firing, 0);
	raw_local_irq_restore(flags);
}

void dt_kfire_held(struct dt_consumer *c, struct dt_context *x, u32 probe, const u64 *args,
		   u32 n_args)
{
	u32 cpu = raw_smp_processor_id();
	u64 begun;

	if (unlikely(READ_ONCE(c->killed)))
		return;
	x->consumer = c;
	x->host.budget_ns = DT_FIRING_MAX_NS;
	x->host.spent_ns = 0;
	x->host.ops = &dt_kernel_ops;
	x->host.arena = c->arena;
	x->host.cpu = cpu;
	x->host.shard = cpu;
	x->host.owner = DTK_OWNER_OF_CPU(cpu);
	x->host.has_target = 1;
	begun = dt_deadman_begins();
	dt_fire(&x->host, probe, args, n_args);
	if (unlikely(begun) && !x->waited)
		dt_deadman_ends(c, begun, x->host.spent_ns);
}

void dt_kfire(struct dt_consumer *c, struct dt_context *x, u32 probe, const u64 *args,
	      u32 n_args)
{
	unsigned long flags;

	if (!dt_firing_begin(c, &flags))
		return;
	dt_kfire_held(c, x, probe, args, n_args);
	dt_firing_end(flags);
}
