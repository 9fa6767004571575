/* SPDX-License-Identifier: MIT */
/* A library that has a probe with a semaphore, for holder.c. */
#define DTRACE_USE_SEMAPHORES
#include <dtrace/sdt.h>

DTRACE_SEMAPHORE(held, turn);

volatile int n_turns; /* counting makes the function long enough for a jump */

int turn(int n)
{
	if (DTRACE_PROBE_ENABLED(held, turn)) {
		DTRACE_PROBE1(held, turn, n);
		n_turns++;
	}
	return held_turn_semaphore;
}
