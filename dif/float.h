/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Floating point for hosts that support it: dt_host_ops.flop. Not part of the
 * kernel module.
 */
#ifndef DIF_FLOAT_H
#define DIF_FLOAT_H

#include "dif/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * dt_flop - compute one of the f* rows of DIF_OPS
 * @op: the DIF_OP_* of the row
 * @a, @b: the values of r1 and r2: the bits of doubles, or integers, as the row
 * requires
 *
 * Context: anywhere. Preserves the vector registers and the floating-point
 * environment of the interrupted code, and raises no exception. Returns the
 * value of rd.
 */
dt_u64 dt_flop(dt_u32 op, dt_u64 a, dt_u64 b);

#ifdef __cplusplus
}
#endif

#endif
