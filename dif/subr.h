/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The subroutines: one dt_subr_*() for each row of dif/subrs.h that a host can
 * run.
 *
 * Arguments are on the tuple stack (dt_arg()); a missing one reads as 0. The
 * result is returned. The result of a subroutine that faults is not used.
 */
#ifndef DIF_SUBR_H
#define DIF_SUBR_H

#include "dif/mstate.h"

#define DT_SUBR_DECLARE_ANY(name) dt_u64 dt_subr_##name(struct dt_mstate *m);
#define DT_SUBR_DECLARE_WRITE(name) DT_SUBR_DECLARE_ANY(name)
#define DT_SUBR_DECLARE_KERNEL(name)
#define DT_SUBR_DECLARE_NONE(name)
#define X(name, number, prototype, where) DT_SUBR_DECLARE_##where(name)
DIF_SUBRS(X)
#undef X

#endif
