// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Implements the callout_execute probes, which fire when a timer calls a
 * function. arg0 is a struct timer_list, or a struct hrtimer if arg1 is 1.
 */
#include "abi/stable.h"

int dt_choose_callout_timer(const u64 *in, u64 *out)
{
	out[0] = in[0];
	out[1] = 0;
	return 2;
}

int dt_choose_callout_hrtimer(const u64 *in, u64 *out)
{
	out[0] = in[0];
	out[1] = 1;
	return 2;
}
