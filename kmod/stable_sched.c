// SPDX-License-Identifier: MIT OR GPL-2.0
/* Implements the sched probes, which fire for events of the scheduler. */
#include "abi/stable.h"

#include <linux/sched.h>
#include <linux/sched/prio.h>

/*
 * @in: arguments of the tracepoint sched_switch(preempted, prev, next,
 * prev_state), which fires in the task prev
 */
int dt_choose_sched_off_cpu(const u64 *in, u64 *out)
{
	out[0] = out[1] = in[2];
	return 2;
}

static bool dt_could_run(const u64 *in)
{
	return (u8)in[0] || !(u32)in[3];
}

/* A switch from the idle thread is not a preemption. */
int dt_choose_sched_preempt(const u64 *in, u64 *out)
{
	return dt_could_run(in) && !is_idle_task(current) ? 0 : -1;
}

int dt_choose_sched_sleep(const u64 *in, u64 *out)
{
	return dt_could_run(in) ? -1 : 0;
}

/* @in: arguments of the tracepoint sched_wakeup(task) */
int dt_choose_sched_wakeup(const u64 *in, u64 *out)
{
	out[0] = out[1] = in[0];
	return 2;
}

int dt_choose_sched_self(const u64 *in, u64 *out)
{
	out[0] = out[1] = (u64)current;
	return 2;
}

/* @in: arguments of enqueue_task_*(rq, task, flags) */
int dt_choose_sched_queue(const u64 *in, u64 *out)
{
	out[0] = out[1] = in[1];
	out[2] = in[0];
	/* It is not known whether the task is put at the end of the queue. */
	out[3] = 0;
	return 4;
}

/*
 * @in: arguments of the tracepoint sched_pi_setprio(task, from). @task gets the
 * priority of @from if this priority is higher than its own. @from may be null.
 */
int dt_choose_sched_lend_pri(const u64 *in, u64 *out)
{
	const struct task_struct *task = (void *)in[0], *from = (void *)in[1];
	int own = task->normal_prio, lent = from ? from->prio : own;

	out[0] = out[1] = in[0];
	out[2] = (u64)min(own, lent);
	return 3;
}

/* @in: arguments of set_user_nice(task, nice) */
int dt_choose_sched_nice(const u64 *in, u64 *out)
{
	out[0] = out[1] = in[0];
	out[2] = (u64)NICE_TO_PRIO((long)in[1]);
	return 3;
}
