/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * D's actions and aggregating functions, one row each. The numbers are those of
 * DTrace.
 *
 * The consumer runs actions of the kind DTRACEACT_LIBACT when it reads their
 * records. The constants DT_LIBACT_* identify these actions.
 *
 * Columns of actions: name, kind, LIBACT number or 0, D prototype, flags. The
 * flags are:
 *   D  records data          W  is destructive and needs -w
 *   K  needs a kernel host   N  exists only on other systems; the compiler
 *                               refuses it with a message that names it
 *
 * This file is installed as <dtrace/actions.h>, for programs that read records
 * themselves. Therefore it includes no other file.
 */
#ifndef DIF_ACTIONS_H
#define DIF_ACTIONS_H

#define DTRACEACT_NONE 0
#define DTRACEACT_DIFEXPR 1
#define DTRACEACT_EXIT 2
#define DTRACEACT_PRINTF 3
#define DTRACEACT_PRINTA 4
#define DTRACEACT_LIBACT 5
#define DTRACEACT_TRACEMEM 6
#define DTRACEACT_TRACEMEM_DYNSIZE 7
#define DTRACEACT_PRINTM 8
#define DTRACEACT_USTACK 0x101
#define DTRACEACT_JSTACK 0x102
#define DTRACEACT_USYM 0x103
#define DTRACEACT_UMOD 0x104
#define DTRACEACT_UADDR 0x105
#define DTRACEACT_STOP 0x201
#define DTRACEACT_RAISE 0x202
#define DTRACEACT_SYSTEM 0x203
#define DTRACEACT_FREOPEN 0x204
#define DTRACEACT_STACK 0x401
#define DTRACEACT_SYM 0x402
#define DTRACEACT_MOD 0x403
#define DTRACEACT_BREAKPOINT 0x501
#define DTRACEACT_PANIC 0x502
#define DTRACEACT_CHILL 0x503
#define DTRACEACT_SPECULATE 0x601
#define DTRACEACT_COMMIT 0x602
#define DTRACEACT_DISCARD 0x603
#define DTRACEACT_AGGREGATION 0x700
#define DTRACEACT_CLASS(kind) ((kind)&0xff00)
#define DTRACEACT_ISAGG(kind) (DTRACEACT_CLASS(kind) == DTRACEACT_AGGREGATION)
/*
 * The value of `ntuple` in an entry that computes an increment. The next entry
 * is a distribution, such as quantize(). The increment is added to one of its
 * buckets.
 */
#define DT_NTUPLE_INCREMENT 0xffffffffu

#define DT_LIBACT_CLEAR 1
#define DT_LIBACT_NORMALIZE 2
#define DT_LIBACT_DENORMALIZE 3
#define DT_LIBACT_TRUNC 4
#define DT_LIBACT_SETOPT 5
#define DT_LIBACT_FTRUNCATE 6

/* clang-format off */
#define DIF_ACTIONS(X) /* X(name, kind, libact, D prototype, flags) */ \
	X(trace,       DTRACEACT_DIFEXPR,  0, "void(@)",                      "D")  \
	X(print,       DTRACEACT_DIFEXPR,  0, "void(@)",                      "D")  \
	X(exit,        DTRACEACT_EXIT,     0, "void(int)",                    "D")  \
	X(printf,      DTRACEACT_PRINTF,   0, "void(@, ...)",                 "D")  \
	X(printa,      DTRACEACT_PRINTA,   0, "void(@, ...)",                 "D")  \
	X(clear,       DTRACEACT_LIBACT, DT_LIBACT_CLEAR,       "void(...)",  "D")  \
	X(normalize,   DTRACEACT_LIBACT, DT_LIBACT_NORMALIZE,   "void(...)",  "D")  \
	X(denormalize, DTRACEACT_LIBACT, DT_LIBACT_DENORMALIZE, "void(...)",  "D")  \
	X(trunc,       DTRACEACT_LIBACT, DT_LIBACT_TRUNC,       "void(...)",  "D")  \
	X(setopt,      DTRACEACT_LIBACT, DT_LIBACT_SETOPT, "void(const char *, [const char *])", "D") \
	X(ftruncate,   DTRACEACT_LIBACT, DT_LIBACT_FTRUNCATE,   "void()",     "D")  \
	X(tracemem,    DTRACEACT_TRACEMEM, 0, "void(@, size_t, ...)",         "D")  \
	X(printm,      DTRACEACT_PRINTM,   0, "void(@, [uintptr_t *])",       "N")  \
	X(ustack,      DTRACEACT_USTACK,   0, "stack([uint32_t], [uint32_t])", "D") \
	X(jstack,      DTRACEACT_JSTACK,   0, "stack([uint32_t], [uint32_t])", "D") \
	X(usym,        DTRACEACT_USYM,     0, "_usymaddr(uintptr_t)",         "D")  \
	X(ufunc,       DTRACEACT_USYM,     0, "_usymaddr(uintptr_t)",         "D")  \
	X(umod,        DTRACEACT_UMOD,     0, "_usymaddr(uintptr_t)",         "D")  \
	X(uaddr,       DTRACEACT_UADDR,    0, "_usymaddr(uintptr_t)",         "D")  \
	X(stop,        DTRACEACT_STOP,     0, "void()",                       "W")  \
	X(raise,       DTRACEACT_RAISE,    0, "void(int)",                    "W")  \
	X(system,      DTRACEACT_SYSTEM,   0, "void(@, ...)",                 "DW") \
	X(freopen,     DTRACEACT_FREOPEN,  0, "void(@, ...)",                 "DW") \
	X(stack,       DTRACEACT_STACK,    0, "stack([uint32_t])",            "DK") \
	X(sym,         DTRACEACT_SYM,      0, "_symaddr(uintptr_t)",          "D")  \
	X(func,        DTRACEACT_SYM,      0, "_symaddr(uintptr_t)",          "D")  \
	X(mod,         DTRACEACT_MOD,      0, "_symaddr(uintptr_t)",          "D")  \
	X(breakpoint,  DTRACEACT_BREAKPOINT, 0, "void()",                     "WK") \
	X(panic,       DTRACEACT_PANIC,    0, "void()",                       "WK") \
	X(chill,       DTRACEACT_CHILL,    0, "void(int)",                    "WK") \
	X(speculate,   DTRACEACT_SPECULATE, 0, "void(int)",                   "")   \
	X(commit,      DTRACEACT_COMMIT,   0, "void(int)",                    "")   \
	X(discard,     DTRACEACT_DISCARD,  0, "void(int)",                    "")

#define DIF_AGGS(X) /* X(name, kind, D prototype) */ \
	X(count,      0x701, "void()")                \
	X(min,        0x702, "void(@)")               \
	X(max,        0x703, "void(@)")               \
	X(avg,        0x704, "void(@)")               \
	X(sum,        0x705, "void(@)")               \
	X(stddev,     0x706, "void(@)")               \
	X(quantize,   0x707, "void(@, ...)")          \
	X(lquantize,  0x708, "void(@, int32_t, int32_t, ...)") \
	X(llquantize, 0x709, "void(@, int32_t, int32_t, int32_t, int32_t, ...)")
/* clang-format on */

enum dif_agg {
#define X(name, kind, prototype) DTRACEAGG_##name = kind,
	DIF_AGGS(X)
#undef X
	/* The spellings of other systems, for programs that use libdtrace. */
	DTRACEAGG_COUNT = DTRACEAGG_count,
	DTRACEAGG_MIN = DTRACEAGG_min,
	DTRACEAGG_MAX = DTRACEAGG_max,
	DTRACEAGG_AVG = DTRACEAGG_avg,
	DTRACEAGG_SUM = DTRACEAGG_sum,
	DTRACEAGG_STDDEV = DTRACEAGG_stddev,
	DTRACEAGG_QUANTIZE = DTRACEAGG_quantize,
	DTRACEAGG_LQUANTIZE = DTRACEAGG_lquantize,
	DTRACEAGG_LLQUANTIZE = DTRACEAGG_llquantize,
};

/*
 * The value that an aggregation keeps for each key consists of 64-bit words:
 *   count, sum, min, max   1 word
 *   avg                    2 words: count, sum
 *   stddev                 4 words: count, sum, low and high word of the sum of
 *                          squares
 *   quantize               127 buckets; bucket 63 counts the value 0
 *   lquantize              levels + 3 words: arg, one bucket for values below
 *                          the base, `levels` buckets, one bucket for values
 *                          above them
 *   llquantize             1 + dt_llquantize_buckets() words: arg, buckets
 * `arg` is dt_action.arg. It contains the parameters of lquantize() and
 * llquantize().
 */
#define DTRACE_QUANTIZE_NBUCKETS 127
#define DTRACE_QUANTIZE_ZEROBUCKET 63
#define DTRACE_LQUANTIZE_BASE(arg) ((int)((arg)&0xffffffffu))
#define DTRACE_LQUANTIZE_LEVELS(arg) ((unsigned short)(((arg) >> 32) & 0xffff))
#define DTRACE_LQUANTIZE_STEP(arg) ((unsigned short)(((arg) >> 48) & 0xffff))
#define DTRACE_LQUANTIZE_ARG(step, levels, base)                               \
	(((dt_u64)(step) << 48) | ((dt_u64)(levels) << 32) | (dt_u32)(base))
#define DTRACE_LLQUANTIZE_FACTOR(arg) ((unsigned short)(((arg) >> 48) & 0xffff))
#define DTRACE_LLQUANTIZE_LOW(arg) ((unsigned short)(((arg) >> 32) & 0xffff))
#define DTRACE_LLQUANTIZE_HIGH(arg) ((unsigned short)(((arg) >> 16) & 0xffff))
#define DTRACE_LLQUANTIZE_NSTEP(arg) ((unsigned short)((arg)&0xffff))
#define DTRACE_LLQUANTIZE_ARG(factor, low, high, nstep)                        \
	(((dt_u64)(factor) << 48) | ((dt_u64)(low) << 32) |                    \
	 ((dt_u64)(high) << 16) | (dt_u64)(nstep))

/*
 * In the dt_action of ustack(), the low half of `arg` is the number of frames,
 * and the high half is the number of bytes for strings. The record is the
 * process id and a word for each frame, with 64 bits each. Unused words are
 * zero.
 */
#define DTRACE_USTACK_NFRAMES(arg) ((unsigned)((arg)&0xffffffffu))
#define DTRACE_USTACK_STRSIZE(arg) ((unsigned)((arg) >> 32))
#define DTRACE_USTACK_ARG(frames, strsize)                                     \
	(((dt_u64)(strsize) << 32) | (dt_u32)(frames))

#endif
