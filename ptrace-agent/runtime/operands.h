/* SPDX-License-Identifier: MIT */
/*
 * Converts the bits of a static probe's argument to the value that the argument
 * has in D programs. The runtime and the agent use this file.
 */
#ifndef PTRACE_AGENT_RUNTIME_OPERANDS_H
#define PTRACE_AGENT_RUNTIME_OPERANDS_H

#include "dif/float.h"
#include "dif/ops.h"
#include "ptrace-agent/runtime/runtime.h"

/*
 * Returns the value of an operand. Integers are sign-extended or zero-extended.
 * A float becomes a double.
 */
static inline dt_u64 dt_rt_operand_value(const struct dt_operand *o,
					 dt_u64 bits)
{
	dt_u32 above = 64 - 8 * (dt_u32)o->bytes;

	if (o->flags & DT_OPERAND_FLOAT)
		return o->bytes == 4
			   ? dt_flop(DIF_OP_FSTOD, (dt_u32)bits, 0)
			   : bits;
	if (o->flags & DT_OPERAND_SIGNED)
		return (dt_u64)((dt_s64)(bits << above) >> above);
	return bits << above >> above;
}

#endif
