// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Implements the profile provider with high-resolution timers. A profile probe
 * has a timer on each CPU. A tick probe has a single timer.
 *
 * The timers of a CPU are stopped while the CPU is offline. Otherwise the
 * kernel would move them to another CPU, where each profile probe would then
 * fire twice.
 *
 * arg0 is the program counter if the timer interrupted the kernel, otherwise 0.
 * arg1 is the program counter if the timer interrupted a process, otherwise 0.
 * arg2 is the delay of the timer in ns.
 */
#include "kmod/consumer.h"

#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/hrtimer.h>
#include <linux/percpu.h>
#include <linux/ptrace.h>
#include <linux/slab.h>

#include <asm/irq_regs.h>

#define DT_SHORTEST_NS 200000ull
#define DT_MAX_TIMERS 256 /* maximum number of timers per consumer */

struct dt_one_timer {
	struct hrtimer timer;
	struct dt_timer *of;
};

struct dt_timer {
	struct list_head list;
	struct dt_consumer *consumer;
	u64 interval_ns;
	u32 probe;
	struct dt_one_timer __percpu *on_cpus; /* null for a tick probe */
	struct hlist_node of_cpus;	       /* in the list for CPU hotplug */
	struct dt_one_timer one; /* used by a tick probe only */
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

static int dt_cpu_state; /* the number of our CPU hotplug state */

/* Called on the CPU that comes online. */
static int dt_cpu_comes(unsigned int cpu, struct hlist_node *node)
{
	struct dt_timer *t = hlist_entry(node, struct dt_timer, of_cpus);

	dt_start(t, per_cpu_ptr(t->on_cpus, cpu), HRTIMER_MODE_REL_PINNED);
	return 0;
}

static int dt_cpu_goes(unsigned int cpu, struct hlist_node *node)
{
	struct dt_timer *t = hlist_entry(node, struct dt_timer, of_cpus);

	hrtimer_cancel(&per_cpu_ptr(t->on_cpus, cpu)->timer);
	return 0;
}

int dt_timers_begin(void)
{
	int state = cpuhp_setup_state_multi(CPUHP_AP_ONLINE_DYN, "dtrace/profile:online",
					    dt_cpu_comes, dt_cpu_goes);

	dt_cpu_state = state;
	return state < 0 ? state : 0;
}

void dt_timers_end(void)
{
	cpuhp_remove_multi_state(dt_cpu_state);
}

static u32 dt_list_count(const struct list_head *list)
{
	const struct list_head *at;
	u32 n = 0;

	list_for_each(at, list)
		n++;
	return n;
}

/* Starts the timer on each CPU that is online or comes online later. */
static int dt_start_on_cpus(struct dt_timer *t)
{
	int error;

	t->on_cpus = alloc_percpu(struct dt_one_timer);
	if (!t->on_cpus)
		return -ENOMEM;
	error = cpuhp_state_add_instance(dt_cpu_state, &t->of_cpus);
	if (error)
		free_percpu(t->on_cpus);
	return error;
}

int dt_timer_attach(struct dt_consumer *c, const struct dtk_site *site)
{
	struct dt_timer *t;
	int error;

	if (site->where < DT_SHORTEST_NS || site->where > S64_MAX)
		return -EINVAL;
	if (dt_list_count(&c->timers) >= DT_MAX_TIMERS)
		return -EUSERS;
	t = kzalloc(sizeof(*t), GFP_KERNEL_ACCOUNT);
	if (!t)
		return -ENOMEM;
	t->consumer = c;
	t->interval_ns = site->where;
	t->probe = site->probe;
	if (site->kind == DTK_PROFILE) {
		error = dt_start_on_cpus(t);
		if (error) {
			kfree(t);
			return error;
		}
	} else {
		dt_start(t, &t->one, HRTIMER_MODE_REL);
	}
	list_add(&t->list, &c->timers);
	return 0;
}

void dt_timer_detach(struct dt_consumer *c)
{
	struct dt_timer *t, *next;

	list_for_each_entry_safe(t, next, &c->timers, list) {
		if (t->on_cpus) {
			cpuhp_state_remove_instance(dt_cpu_state, &t->of_cpus);
			free_percpu(t->on_cpus);
		} else {
			hrtimer_cancel(&t->one.timer);
		}
		list_del(&t->list);
		kfree(t);
	}
}
