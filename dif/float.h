/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The implementation of dt_host_ops.flop for hosts in user space. The kernel
 * module has no floating point.
 */
#ifndef DIF_FLOAT_H
#define DIF_FLOAT_H

#include "dif/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * dt_flop - execute a floating-point instruction, a row f* of DIF_OPS
 * @op: the instruction, DIF_OP_F*
 * @a, @b: the values of the registers r1 and r2: the bits of doubles, or
 * integers if the instruction converts an integer
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
