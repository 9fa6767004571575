/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Arguments of static probes: struct dt_operand of abi/ioctl.h.
 */
#ifndef KMOD_OPERAND_H
#define KMOD_OPERAND_H

#include "abi/ioctl.h"

#include <linux/types.h>

struct dt_context;

/* Does it name registers that there are, and sizes? */
bool dt_operand_is_valid(const struct dt_operand *o);
/*
 * A valid one's, by x->regs of the current process. 0, or -1: with *bad the address that
 * could not be read, 0: it cannot be had. In a probe.
 */
int dt_operand_value(const struct dt_operand *o, struct dt_context *x, u64 *value,
		     u64 *bad);

#endif
