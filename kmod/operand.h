/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Evaluates arguments of static probes (struct dt_operand in abi/operand.h).
 */
#ifndef KMOD_OPERAND_H
#define KMOD_OPERAND_H

#include "abi/ioctl.h"

#include <linux/types.h>

struct dt_context;

/* Returns whether the operand's form, registers and sizes are valid. */
bool dt_operand_is_valid(const struct dt_operand *o);
/*
 * Evaluates a valid operand in the current process, with the registers x->regs.
 * Returns 0. On failure, returns -1 and sets *bad to the address that could not
 * be read. If the value is not available, *bad is 0. x->may_wait must be 0 if
 * no probe is firing.
 */
int dt_operand_value(const struct dt_operand *o, struct dt_context *x, u64 *value,
		     u64 *bad);

#endif
