// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The deadman, which kills a consumer that keeps a CPU busy with probes.
 *
 * Each CPU has two sums of the time of its firings. A fixed share of the time
 * that passes is subtracted from each sum:
 *
 *   firings in the sum      subtracted   reason for a limit
 *   of 100 us or more       80 %         They delay interrupts. A few of them
 *                                        take an entire timer tick.
 *   all                     97 %         They leave almost no CPU time for
 *                                        other work.
 *
 * The limit of a sum is the value that it reaches if firings take all of the
 * CPU's time for 10 seconds (parameter `deadman`). If a sum exceeds its limit,
 * the consumer that used most of the time is killed. A majority vote over the
 * firing times finds this consumer.
 *
 * Reading the clock can take longer than a short firing, so most short firings
 * are not measured. A measured short firing counts 16 times. After a firing of
 * 100 us or more, every firing is measured for a while.
 *
 * A virtual machine may be paused during a firing, so at most 100 ms of a
 * firing count. A firing that has used up its budget (dif/work.c) counts in
 * full.
 *
 * All of this runs with interrupts off, one firing at a time on each CPU.
 */
#include "kmod/consumer.h"

#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/timekeeping.h>

#define DT_LONG_NS 100000ll
#define DT_COUNTED_MAX_NS 100000000ll
#define DT_EACH 16 /* one out of 16 short firings is measured */

static unsigned int dt_deadman_s = 10;
module_param_named(deadman, dt_deadman_s, uint, 0644);
MODULE_PARM_DESC(deadman, "maximum time in seconds for which firings may keep a CPU busy (default 10, 0 = no limit)");

enum dt_firings { DT_FIRINGS_LONG, DT_FIRINGS_ALL, DT_N_FIRINGS };

/* The percentage of the elapsed time that is subtracted from each sum. */
static const u32 dt_percent[DT_N_FIRINGS] = {80, 97};

struct dt_watch {
	u64 last_ns; /* when time was last subtracted */
	s64 sum_ns[DT_N_FIRINGS]; /* never negative */
	/* the leader of the majority vote; the pointer is not dereferenced */
	const struct dt_consumer *most;
	s64 votes_ns;
	u64 all_until_ns; /* every firing is measured until this time */
	u32 skip; /* number of firings to skip before the next measured one */
	/* weight of the next measured firing if it is short */
	u32 weight;
	u32 random;
};

static DEFINE_PER_CPU(struct dt_watch, dt_watch);

static void dt_kill(struct dt_consumer *c)
{
	const struct dt_arena *arena = c->arena;
	struct dt_session *session = dt_at(c->arena, arena->session);

	WRITE_ONCE(c->killed, true);
	smp_store_release(&session->activity, DT_ACTIVITY_KILLED);
}

/* Selects the next firing to be measured. */
static void dt_choose_next(struct dt_watch *w, u64 now)
{
	if (now < w->all_until_ns) {
		w->skip = 0;
		w->weight = 1;
		return;
	}
	w->random = w->random * 1664525 + 1013904223;
	w->skip = (w->random >> 16) % (2 * DT_EACH - 1);
	w->weight = DT_EACH;
}

static void dt_vote(struct dt_watch *w, const struct dt_consumer *c, s64 counted_ns)
{
	if (!w->sum_ns[DT_FIRINGS_LONG] && !w->sum_ns[DT_FIRINGS_ALL])
		w->votes_ns = 0;
	if (w->most != c && w->votes_ns <= counted_ns) {
		w->most = c;
		w->votes_ns = counted_ns - w->votes_ns;
		return;
	}
	w->votes_ns += w->most == c ? counted_ns : -counted_ns;
}

/*
 * Adds counted_ns to a sum, and subtracts the fixed share of passed_ns. Returns
 * whether the sum exceeds its limit.
 */
static bool dt_add(struct dt_watch *w, enum dt_firings which, u64 passed_ns, s64 counted_ns)
{
	s64 limit_ns = READ_ONCE(dt_deadman_s) * (s64)NSEC_PER_SEC / 100 * (100 - dt_percent[which]);
	s64 sum = w->sum_ns[which] + counted_ns - (s64)(passed_ns / 100 * dt_percent[which]);

	w->sum_ns[which] = max(sum, 0ll);
	return limit_ns && sum > limit_ns;
}

u64 dt_deadman_begins(void)
{
	struct dt_watch *w = this_cpu_ptr(&dt_watch);
	u64 before, now;

	if (likely(w->skip)) {
		w->skip--;
		return 0;
	}
	before = ktime_get_mono_fast_ns();
	now = ktime_get_mono_fast_ns();
	return now + (now - before);
}

void dt_deadman_ends(struct dt_consumer *c, u64 begun_ns, u64 spent_ns)
{
	struct dt_watch *w = this_cpu_ptr(&dt_watch);
	u64 now = ktime_get_mono_fast_ns(), passed = now > w->last_ns ? now - w->last_ns : 0;
	s64 took = (s64)(now - begun_ns), counted;
	bool is_long = took >= DT_LONG_NS, beyond;

	w->last_ns += passed;
	if (spent_ns <= DT_FIRING_MAX_NS && took > DT_COUNTED_MAX_NS) {
		passed -= min(passed, (u64)(took - DT_COUNTED_MAX_NS));
		took = DT_COUNTED_MAX_NS;
	}
	counted = is_long ? took : took * w->weight;
	if (is_long)
		w->all_until_ns = now + DT_EACH * (u64)took;
	dt_vote(w, c, max(counted, 0ll));
	beyond = dt_add(w, DT_FIRINGS_LONG, passed, is_long ? counted : 0);
	beyond |= dt_add(w, DT_FIRINGS_ALL, passed, counted);
	dt_choose_next(w, now);
	if (!beyond || w->most != c)
		return;
	w->sum_ns[DT_FIRINGS_LONG] = w->sum_ns[DT_FIRINGS_ALL] = 0;
	dt_kill(c);
}
