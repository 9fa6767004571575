// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * profile and tick: high-resolution timers, one for each CPU or one in all.
 *
 * arg0 is the kernel's program counter where it came in, arg1 the process', the other one
 * is 0; arg2 is how many ns too late it was.
 */
#include "kmod/consumer.h"

#include <linux/cpu.h>
#include <linux/hrtimer.h>
#include <linux/percpu.h>
#include <linux/ptrace.h>
#include <linux/slab.h>

#include <asm/irq_regs.h>

#define DT_SHORTEST_NS 200000ull
#define DT_MAX_TIMERS 256 /* of a consumer */

struct dt_one_timer {
	struct hrtimer timer;
	struct dt_timer *of;
};

struct dt_timer {
	struct list_head list;
	struct dt_consumer *consumer;
	u64 interval_ns;
	u32 probe;
	struct dt_one_timer __percpu *on_cpus; /* or null */
	struct dt_one_timer one;
};

static enum hrtimer_restart dt_tick(struct hrtimer *timer)
{
	struct dt_timer *t = container_of(timer, struct dt_one_timer, timer)->of;
	struct pt_regs *regs = get_irq_regs();
	ktime_t now = hrtimer_cb_get_time(timer);
	struct dt_context x = {};
	u64 args[3] = {};

	if (regs)
		args[user_mode(regs)] = instruction_pointer(regs);
	args[2] = (u64)ktime_to_ns(ktime_sub(now, hrtimer_get_expires(timer)));
	x.regs = regs;
	dt_kfire(t->consumer, &x, t->probe, args, 3);
	hrtimer_forward(timer, now, ns_to_ktime(t->interval_ns));
	return HRTIMER_RESTART;
}

static void dt_start(struct dt_timer *t, struct dt_one_timer *one, enum hrtimer_mode mode)
{
	one->of = t;
	hrtimer_init(&one->timer, CLOCK_MONOTONIC, mode);
	one->timer.function = dt_tick;
	hrtimer_start(&one->timer, ns_to_ktime(t->interval_ns), mode);
}

static void dt_start_here(void *timer)
{
	struct dt_timer *t = timer;

	dt_start(t, this_cpu_ptr(t->on_cpus), HRTIMER_MODE_REL_PINNED);
}

static u32 dt_list_count(const struct list_head *list)
{
	const struct list_head *at;
	u32 n = 0;

	list_for_each(at, list)
		n++;
	return n;
}

int dt_timer_attach(struct dt_consumer *c, const struct dtk_site *site)
{
	struct dt_timer *t;

	if (site->where < DT_SHORTEST_NS || site->where > S64_MAX)
		return -EINVAL;
	if (dt_list_count(&c->timers) >= DT_MAX_TIMERS)
		return -EUSERS;
	t = kzalloc(sizeof(*t), GFP_KERNEL);
	if (!t)
		return -ENOMEM;
	t->consumer = c;
	t->interval_ns = site->where;
	t->probe = site->probe;
	if (site->kind == DTK_PROFILE) {
		t->on_cpus = alloc_percpu(struct dt_one_timer);
		if (!t->on_cpus) {
			kfree(t);
			return -ENOMEM;
		}
		on_each_cpu(dt_start_here, t, 1);
	} else {
		dt_start(t, &t->one, HRTIMER_MODE_REL);
	}
	list_add(&t->list, &c->timers);
	return 0;
}

void dt_timer_detach(struct dt_consumer *c)
{
	struct dt_timer *t, *next;
	int cpu;

	list_for_each_entry_safe(t, next, &c->timers, list) {
		if (t->on_cpus) {
			for_each_possible_cpu(cpu) {
				struct dt_one_timer *one = per_cpu_ptr(t->on_cpus, cpu);

				if (one->of)
					hrtimer_cancel(&one->timer);
			}
			free_percpu(t->on_cpus);
		} else {
			hrtimer_cancel(&t->one.timer);
		}
		list_del(&t->list);
		kfree(t);
	}
}
