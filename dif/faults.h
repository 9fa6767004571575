/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The tables of faults and drops. A fault ends a clause and fires ERROR. A drop
 * counts data that could not be recorded. This file is installed as
 * <dtrace/faults.h>.
 */
#ifndef DIF_FAULTS_H
#define DIF_FAULTS_H

/* clang-format off */
#define DIF_FAULTS(X) /* X(name, number, text, 1 if an address is printed) */ \
	X(UNKNOWN,   0, "unknown fault",                 0) \
	X(BADADDR,   1, "invalid address",               1) \
	X(BADALIGN,  2, "invalid alignment",             1) \
	X(ILLOP,     3, "illegal operation",             0) \
	X(DIVZERO,   4, "divide-by-zero",                0) \
	X(NOSCRATCH, 5, "out of scratch space",          0) \
	X(KPRIV,     6, "invalid kernel access",         0) \
	X(UPRIV,     7, "invalid user access",           1) \
	X(TUPOFLOW,  8, "tuple stack overflow",          0) \
	X(BADSTACK,  9, "bad stack",                     0) \
	X(LIBRARY, 1000, "library-level fault",          0)

/*
 * X(name). Each kind of drop is counted separately. The consumer defines the
 * messages.
 */
#define DIF_DROPS(X) \
	X(PRINCIPAL) X(AGGREGATION) X(DYNAMIC) X(DYNRINSE) X(DYNDIRTY) \
	X(SPEC) X(SPECBUSY) X(SPECUNAVAIL) X(STKSTROVERFLOW) X(DBLERROR) X(NOSHARD) \
	X(LEASE) X(NMI) X(RETURN) X(TIME) X(THROTTLE)
/* clang-format on */

enum dif_fault {
#define X(name, number, text, addr) DTRACEFLT_##name = number,
	DIF_FAULTS(X)
#undef X
};

enum dif_drop {
#define X(name) DTRACEDROP_##name,
	DIF_DROPS(X)
#undef X
	DTRACEDROP_N
};

#endif
