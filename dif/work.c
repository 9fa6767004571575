/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Limits the time of one firing, for hosts that set a budget. The kernel module
 * needs a limit, because its firings run with interrupts off and a program may
 * have thousands of clauses.
 *
 * The work is counted in pieces: clauses, actions, and instructions that may
 * take a long time. The time of a piece is at most linear in the size of the
 * memory that it processes. Only chill() may take longer, and the host limits
 * it.
 *
 * The clock is read at every 16th piece. When the budget is used up, the clause
 * ends, no later clause runs, and a drop of kind TIME is counted. A firing
 * takes at most the budget plus the time of 32 pieces.
 *
 * A virtual machine may be paused during a firing. So at most DT_STEP_MAX_NS of
 * the time between two readings of the clock is counted.
 */
#include "dif/mstate.h"

#define DT_STEP_MAX_NS 100000000ull

void dt_work_measure(struct dt_mstate *m)
{
	struct dt_host *host = m->host;
	dt_u64 now, step;

	if (!host->budget_ns || host->spent_ns > host->budget_ns)
		return;
	now = m->ops->timestamp(host);
	step = m->measured_at ? now - m->measured_at : 0;
	m->measured_at = now;
	host->spent_ns += step < DT_STEP_MAX_NS ? step : DT_STEP_MAX_NS;
	if (host->spent_ns <= host->budget_ns)
		return;
	dt_count(&m->session->drops[DTRACEDROP_TIME]);
	m->exited = 1;
	dt_fault(m, DT_FAULT_DROPPED, 0);
}
