/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Limits the time of one firing, for hosts that set a budget.
 *
 * In the kernel a firing runs with interrupts off, and the program may have
 * thousands of clauses. The work of a firing is therefore counted in pieces:
 * clauses, actions, and instructions that may take a long time. A piece takes
 * time that is at most linear in the size of the string or the scratch memory
 * that the piece processes. Only chill() may take longer, and the host limits
 * it. The clock is read at every 16th piece, so this file does not read it in a
 * firing with fewer pieces.
 *
 * When the budget is used up, the clause ends, no later clause of the firing
 * runs, and a drop of kind TIME is counted. The pieces before the first reading
 * of the clock are not measured, and 16 pieces run between two readings. So a
 * firing takes at most the budget plus the time of 32 pieces.
 *
 * A virtual machine may be paused in the middle of a firing. One measurement
 * therefore adds at most DT_STEP_MAX_NS (100 ms), so that a single pause does
 * not use up the budget.
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
