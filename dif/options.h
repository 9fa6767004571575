/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The table of the run-time options of a session, one row each. Some options
 * determine the arena's layout.
 *
 * The kinds are BOOL, SIZE (in bytes), RATE (an interval in ns), COUNT, ENUM
 * (bufpolicy and bufresize) and CPU. A dynamic option may be changed while a
 * program is traced. DT_OPT_UNSET means that the option is not set.
 */
#ifndef DIF_OPTIONS_H
#define DIF_OPTIONS_H

#include "dif/types.h"

#define DT_OPT_UNSET ((dt_u64)-2)

/* clang-format off */
#define DIF_OPTIONS(X) /* X(name, number, kind, default, dynamic) */ \
	X(bufsize,        0, SIZE,  4ull << 20,     0) \
	X(bufpolicy,      1, ENUM,  0,              0) \
	X(dynvarsize,     2, SIZE,  1ull << 20,     0) \
	X(aggsize,        3, SIZE,  4ull << 20,     0) \
	X(specsize,       4, SIZE,  32ull << 10,    0) \
	X(nspec,          5, COUNT, 1,              0) \
	X(strsize,        6, SIZE,  256,            0) \
	X(cleanrate,      7, RATE,  9900990,        0) \
	X(cpu,            8, CPU,   DT_OPT_UNSET,   0) \
	X(bufresize,      9, ENUM,  0,              0) \
	X(grabanon,      10, BOOL,  DT_OPT_UNSET,   0) \
	X(flowindent,    11, BOOL,  DT_OPT_UNSET,   1) \
	X(quiet,         12, BOOL,  DT_OPT_UNSET,   1) \
	X(stackframes,   13, COUNT, 20,             0) \
	X(ustackframes,  14, COUNT, 20,             0) \
	X(aggrate,       15, RATE,  1000000000,     1) \
	X(switchrate,    16, RATE,  1000000000,     1) \
	X(statusrate,    17, RATE,  1000000000,     1) \
	X(destructive,   18, BOOL,  DT_OPT_UNSET,   0) \
	X(stackindent,   19, COUNT, 14,             1) \
	X(rawbytes,      20, BOOL,  DT_OPT_UNSET,   1) \
	X(jstackframes,  21, COUNT, 50,             0) \
	X(jstackstrsize, 22, SIZE,  512,            0) \
	X(aggsortkey,    23, BOOL,  DT_OPT_UNSET,   1) \
	X(aggsortrev,    24, BOOL,  DT_OPT_UNSET,   1) \
	X(aggsortpos,    25, COUNT, DT_OPT_UNSET,   1) \
	X(aggsortkeypos, 26, COUNT, DT_OPT_UNSET,   1) \
	X(temporal,      27, BOOL,  DT_OPT_UNSET,   0) \
	X(agghist,       28, BOOL,  DT_OPT_UNSET,   1) \
	X(aggpack,       29, BOOL,  DT_OPT_UNSET,   1) \
	X(aggzoom,       30, BOOL,  DT_OPT_UNSET,   1) \
	X(maxframes,     31, COUNT, DT_OPT_UNSET,   0)
/* clang-format on */

enum dif_option {
#define X(name, number, kind, value, dynamic) DTRACEOPT_##name = number,
	DIF_OPTIONS(X)
#undef X
	DTRACEOPT_N = 32
};

#define DT_BUFPOLICY_SWITCH 0
#define DT_BUFPOLICY_FILL 1
#define DT_BUFPOLICY_RING 2
#define DT_BUFRESIZE_AUTO 0
#define DT_BUFRESIZE_MANUAL 1

#endif
