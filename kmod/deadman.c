// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The deadman: no consumer may keep a CPU in probes.
 *
 * A firing has a budget (dif/work.c), but a hot probe can fire again at once. Each CPU therefore
 * adds up its long firings, which are those of at least DT_LONG_NS, and subtracts four fifths of
 * all time that passes. The sum grows only while long firings take more than four fifths of the
 * time. If they take all of it for 10 seconds (parameter `deadman`), the sum is 2 seconds, and the
 * consumer of the last firing is killed: none of its probes runs any more, and its dtrace ends with
 * "Abort due to systemic unresponsiveness".
 *
 * A pause of the machine counts only in a firing that used up its budget. A pause alone cannot use
 * it up.
 *
 * Short firings are not measured. They leave the CPU its interrupts in between, and a program like
 * fbt::: { @ = count(); } may spend most of the time in them and still be useful. If they leave no time
 * to any process, then the consumer does not run either, and its lease ends.
 */
#include "kmod/consumer.h"

#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/timekeeping.h>

#define DT_LONG_NS 10000000ull

static unsigned int dt_deadman_s = 10;
module_param_named(deadman, dt_deadman_s, uint, 0644);
MODULE_PARM_DESC(deadman, "seconds that long firings may keep a CPU (default 10); 0 sets no limit");

struct dt_long_firings {
	u64 ended_ns; /* when the last one ended */
	u64 level_ns; /* their time, less four fifths of all time; never negative */
};

static DEFINE_PER_CPU(struct dt_long_firings, dt_long_firings);

static void dt_kill(struct dt_consumer *c)
{
	const struct dt_arena *arena = c->arena;
	struct dt_session *session = dt_at(c->arena, arena->session);

	WRITE_ONCE(c->killed, true);
	smp_store_release(&session->activity, DT_ACTIVITY_KILLED);
}

void dt_deadman(struct dt_consumer *c, u64 took_ns)
{
	u64 limit_ns = READ_ONCE(dt_deadman_s) * (u64)NSEC_PER_SEC / 5;
	struct dt_long_firings *l = this_cpu_ptr(&dt_long_firings);
	u64 now = ktime_get_mono_fast_ns(), drained;

	if (took_ns < DT_LONG_NS || !limit_ns)
		return;
	drained = (now - l->ended_ns) / 5 * 4;
	l->level_ns += took_ns;
	l->level_ns = l->level_ns > drained ? l->level_ns - drained : 0;
	l->ended_ns = now;
	if (l->level_ns <= limit_ns)
		return;
	l->level_ns = 0;
	dt_kill(c);
}
