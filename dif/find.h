/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Finds one string in another, for index(), rindex() and strstr(). */
#ifndef DIF_FIND_H
#define DIF_FIND_H

#include "dif/types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct dt_slice {
	const dt_u8 *s;
	dt_u64 len;
};

#define DT_NOT_FOUND ((dt_u64)-1)

/*
 * Returns the first position at or after `from` where a contains b, or
 * DT_NOT_FOUND.
 */
dt_u64 dt_find(const struct dt_slice *a, const struct dt_slice *b, dt_u64 from);
/*
 * Returns the last position at or before `from` where a contains b, or
 * DT_NOT_FOUND.
 */
dt_u64 dt_find_last(const struct dt_slice *a, const struct dt_slice *b,
		    dt_u64 from);

#ifdef __cplusplus
}
#endif

#endif
