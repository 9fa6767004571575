// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Implements the cpc provider. A probe has a perf counter on each CPU, and
 * fires each time a counter overflows.
 *
 *   CPU comes online ── dt_cpu_came() ── dt_came, a mask ── work ── a new counter there
 *
 * When a CPU goes offline, perf removes its counters. When the CPU comes online
 * again, a work item (dt_came_work) opens new counters. Events that occur on
 * this CPU before the new counters are open are not counted. The hotplug
 * callback dt_cpu_came() cannot open counters itself, because perf takes the
 * hotplug lock.
 *
 * perf calls dt_overflow() in any context, including NMIs. If a counter
 * overflows too often, perf may stop the counter until the next tick. Each stop
 * is counted as one drop.
 *
 * Counters are pinned, so that perf does not share a counter of the processor
 * between several events. The probe is refused if no counter is free.
 *
 * arg0 is the program counter if the overflow occurred in the kernel, otherwise
 * 0. arg1 is the program counter if it occurred in a process, otherwise 0.
 *
 * Lock order: the consumer's mutex, dt_counters_lock, perf's locks and the
 * hotplug lock.
 */
#include "abi/cpc.h"

#include "kmod/consumer.h"

#include <linux/capability.h>
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/printk.h>
#include <linux/ptrace.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include <asm/processor-flags.h>

#define DT_MAX_COUNTERS 64 /* per consumer */
#define DT_STOPPED (~0ull) /* perf's MAX_INTERRUPTS, which no header defines */

struct dt_counter {
	struct list_head list; /* in the consumer's list */
	struct list_head all;  /* in dt_counters */
	struct dt_consumer *consumer;
	struct perf_event_attr attr;
	u32 probe;
	/* nr_cpu_ids entries; null for a CPU without a counter */
	struct perf_event *on_cpus[];
};

/* protects dt_counters and on_cpus of all counters */
static DEFINE_MUTEX(dt_counters_lock);
static LIST_HEAD(dt_counters);
/* CPUs that have come online since dt_came_work last ran */
static struct cpumask dt_came;

static void dt_overflow(struct perf_event *event, struct perf_sample_data *data,
			struct pt_regs *regs)
{
	struct dt_counter *counter = event->overflow_handler_context;
	struct dt_context x = {};
	u64 args[2] = {};

	args[user_mode(regs)] = instruction_pointer(regs);
	/*
	 * If no code was interrupted, such as at a context switch, perf sets
	 * only ip and sp.
	 */
	if (user_mode(regs) || regs->flags & X86_EFLAGS_FIXED)
		x.regs = regs;
	else
		x.frame = kernel_stack_pointer(regs);
	dt_kfire(counter->consumer, &x, counter->probe, args, 2);
	if (unlikely(event->hw.interrupts == DT_STOPPED))
		dt_lost(counter->consumer, DTRACEDROP_THROTTLE);
}

static void dt_close_on(struct dt_counter *counter, u32 cpu)
{
	if (counter->on_cpus[cpu])
		perf_event_release_kernel(counter->on_cpus[cpu]);
	counter->on_cpus[cpu] = NULL;
}

/*
 * Opens the counter on a CPU. Returns 0 or a negative errno: -ENODEV if the CPU
 * is not online, -EBUSY if all counters of the CPU are in use.
 */
static int dt_open_on(struct dt_counter *counter, u32 cpu)
{
	struct perf_event *event = perf_event_create_kernel_counter(&counter->attr, (int)cpu, NULL,
								    dt_overflow, counter);

	if (IS_ERR(event))
		return (int)PTR_ERR(event);
	counter->on_cpus[cpu] = event;
	if (READ_ONCE(event->state) != PERF_EVENT_STATE_ERROR)
		return 0;
	dt_close_on(counter, cpu);
	return -EBUSY;
}

/*
 * Closes the counter on all CPUs. The caller must wait for RCU before it frees
 * the counter, because callbacks may still use it.
 */
static void dt_close(struct dt_counter *counter)
{
	u32 cpu;

	for (cpu = 0; cpu < nr_cpu_ids; cpu++)
		dt_close_on(counter, cpu);
}

/*
 * Opens the counter on all online CPUs. Returns 0 or a negative errno. After an
 * error, the caller must call dt_close().
 */
static int dt_open_all(struct dt_counter *counter)
{
	u32 cpu;
	int error;

	for_each_online_cpu(cpu) {
		error = dt_open_on(counter, cpu);
		/*
		 * Ignore -ENODEV if the CPU has gone offline. Its counter will
		 * be opened when it comes online again.
		 */
		if (error && (error != -ENODEV || cpu_online(cpu)))
			return error;
	}
	return 0;
}

static void dt_open_where_cpus_came(struct work_struct *work)
{
	struct dt_counter *counter;
	u32 cpu;
	int error;

	mutex_lock(&dt_counters_lock);
	for_each_possible_cpu(cpu) {
		if (!cpumask_test_and_clear_cpu(cpu, &dt_came))
			continue;
		list_for_each_entry(counter, &dt_counters, all) {
			dt_close_on(counter, cpu);
			error = dt_open_on(counter, cpu);
			if (error && error != -ENODEV)
				pr_warn("dtrace: CPU %u has come online, but a cpc probe cannot fire on it: error %d\n",
					cpu, error);
		}
	}
	mutex_unlock(&dt_counters_lock);
}

static DECLARE_WORK(dt_came_work, dt_open_where_cpus_came);

static int dt_cpu_came(unsigned int cpu)
{
	cpumask_set_cpu(cpu, &dt_came);
	schedule_work(&dt_came_work);
	return 0;
}

static int dt_cpc_state;

int dt_cpc_begin(void)
{
	int state = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "dtrace/cpc:online",
					      dt_cpu_came, NULL);

	dt_cpc_state = state;
	return state < 0 ? state : 0;
}

void dt_cpc_end(void)
{
	cpuhp_remove_state_nocalls(dt_cpc_state);
	cancel_work_sync(&dt_came_work);
}

static int dt_cpc_attr(const struct dtk_site *site, struct perf_event_attr *attr)
{
	u32 mode = DT_CPC_MODE_OF(site->more), type = DT_CPC_TYPE_OF(site->more);

	if (type != DT_CPC_HARDWARE && type != DT_CPC_SOFTWARE && type != DT_CPC_CACHE &&
	    type != DT_CPC_RAW)
		return -EINVAL;
	if (!mode || mode & ~(u32)(DT_CPC_USER | DT_CPC_KERNEL) ||
	    DT_CPC_COUNT_OF(site->more) < dt_cpc_least(type, site->where))
		return -EINVAL;
	attr->type = type;
	attr->size = sizeof(*attr);
	attr->config = site->where;
	attr->sample_period = DT_CPC_COUNT_OF(site->more);
	attr->pinned = 1;
	attr->exclude_user = !(mode & DT_CPC_USER);
	attr->exclude_kernel = !(mode & DT_CPC_KERNEL);
	attr->exclude_hv = attr->exclude_kernel;
	return 0;
}

int dt_cpc_attach(struct dt_consumer *c, const struct dtk_site *site)
{
	struct dt_counter *counter;
	int error;

	if (!perfmon_capable())
		return -EACCES;
	if (c->n_counters >= DT_MAX_COUNTERS)
		return -EUSERS;
	counter = kzalloc(struct_size(counter, on_cpus, nr_cpu_ids), GFP_KERNEL_ACCOUNT);
	if (!counter)
		return -ENOMEM;
	counter->consumer = c;
	counter->probe = site->probe;
	error = dt_cpc_attr(site, &counter->attr);
	if (error) {
		kfree(counter);
		return error;
	}
	mutex_lock(&dt_counters_lock);
	error = dt_open_all(counter);
	if (error)
		dt_close(counter);
	else
		list_add(&counter->all, &dt_counters);
	mutex_unlock(&dt_counters_lock);
	if (error) {
		synchronize_rcu();
		kfree(counter);
		return error;
	}
	c->n_counters++;
	list_add(&counter->list, &c->counters);
	return 0;
}

void dt_cpc_detach(struct dt_consumer *c)
{
	struct dt_counter *counter, *next;

	if (list_empty(&c->counters))
		return;
	mutex_lock(&dt_counters_lock);
	list_for_each_entry(counter, &c->counters, list) {
		list_del(&counter->all);
		dt_close(counter);
	}
	mutex_unlock(&dt_counters_lock);
	synchronize_rcu();
	list_for_each_entry_safe(counter, next, &c->counters, list) {
		list_del(&counter->list);
		kfree(counter);
	}
	c->n_counters = 0;
}
