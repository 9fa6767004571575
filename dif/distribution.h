/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Functions for quantize(), lquantize() and llquantize() that return the bucket
 * of a value and the number of buckets. The engine and the consumer use this
 * file.
 *
 * In llquantize(), bucket 0 counts values below factor^low. For each k from low
 * to high, the range from factor^k to factor^(k+1) is divided into buckets of
 * equal width. The width is factor^(k+1) / n, with n = min(nstep,
 * factor^(k+1)). The last bucket counts all larger values.
 */
#ifndef DIF_DISTRIBUTION_H
#define DIF_DISTRIBUTION_H

#include "dif/actions.h"
#include "dif/types.h"

static inline dt_u32 dt_quantize_bucket(dt_s64 value)
{
	dt_u64 size = value < 0 ? -(dt_u64)value : (dt_u64)value;
	dt_u32 log;

	if (!value)
		return DTRACE_QUANTIZE_ZEROBUCKET;
	log = 63u - (dt_u32)__builtin_clzll(size);
	if (log > 62)
		log = 62; /* only for INT64_MIN */
	return value > 0 ? DTRACE_QUANTIZE_ZEROBUCKET + 1 + log
			 : DTRACE_QUANTIZE_ZEROBUCKET - 1 - log;
}

/*
 * Returns the value in bucket i that is nearest to zero, which is the bucket's
 * label.
 */
static inline dt_s64 dt_quantize_value(dt_u32 i)
{
	if (i < DTRACE_QUANTIZE_ZEROBUCKET)
		return -(1ll << (DTRACE_QUANTIZE_ZEROBUCKET - 1 - i));
	if (i == DTRACE_QUANTIZE_ZEROBUCKET)
		return 0;
	return 1ll << (i - DTRACE_QUANTIZE_ZEROBUCKET - 1);
}

/*
 * Returns the bucket of a value. Bucket 0 counts values below the base. The
 * last bucket, `levels` + 1, counts values at or above the limit.
 */
static inline dt_u32 dt_lquantize_bucket(dt_u64 arg, dt_s64 value)
{
	dt_s64 base = DTRACE_LQUANTIZE_BASE(arg);
	dt_u64 level;

	if (value < base)
		return 0;
	level = ((dt_u64)value - (dt_u64)base) / DTRACE_LQUANTIZE_STEP(arg);
	if (level >= DTRACE_LQUANTIZE_LEVELS(arg))
		return DTRACE_LQUANTIZE_LEVELS(arg) + 1u;
	return (dt_u32)level + 1;
}

static inline int dt_lquantize_ok(dt_u64 arg)
{
	return DTRACE_LQUANTIZE_STEP(arg) && DTRACE_LQUANTIZE_LEVELS(arg);
}

static inline int dt_llquantize_ok(dt_u64 arg)
{
	dt_u64 factor = DTRACE_LLQUANTIZE_FACTOR(arg);
	dt_u64 nstep = DTRACE_LLQUANTIZE_NSTEP(arg);
	dt_u64 high = DTRACE_LLQUANTIZE_HIGH(arg);
	dt_u64 power = 1, smallest = factor;

	if (factor < 2 || DTRACE_LLQUANTIZE_LOW(arg) >= high ||
	    nstep < factor || nstep % factor)
		return 0;
	for (dt_u64 i = 0; i <= high; i++) {
		if (power > ~0ull / factor)
			return 0;
		power *= factor;
	}
	while (smallest < nstep)
		smallest *= factor;
	return smallest % nstep == 0;
}

static inline dt_u32 dt_llquantize_bucket(dt_u64 arg, dt_s64 value)
{
	dt_u64 factor = DTRACE_LLQUANTIZE_FACTOR(arg);
	dt_u64 nstep = DTRACE_LLQUANTIZE_NSTEP(arg);
	dt_u32 bucket = 1, k = DTRACE_LLQUANTIZE_LOW(arg);
	dt_u64 low = 1;

	for (dt_u32 i = 0; i < k; i++)
		low *= factor;
	if (value < 0 || (dt_u64)value < low)
		return 0;
	for (; k <= DTRACE_LLQUANTIZE_HIGH(arg); k++) {
		dt_u64 next = low * factor;
		dt_u64 n = next < nstep ? next : nstep;

		if ((dt_u64)value < next)
			return bucket +
			       (dt_u32)(((dt_u64)value - low) / (next / n));
		bucket += (dt_u32)(n - n / factor);
		low = next;
	}
	return bucket;
}

/* Returns the number of buckets, including the first and the last one. */
static inline dt_u32 dt_llquantize_buckets(dt_u64 arg)
{
	dt_u64 factor = DTRACE_LLQUANTIZE_FACTOR(arg);
	dt_u64 nstep = DTRACE_LLQUANTIZE_NSTEP(arg);
	dt_u64 next = 1;
	dt_u32 n_buckets = 2;

	for (dt_u32 k = 0; k <= DTRACE_LLQUANTIZE_HIGH(arg); k++) {
		dt_u64 n;

		next *= factor;
		n = next < nstep ? next : nstep;
		if (k >= DTRACE_LLQUANTIZE_LOW(arg))
			n_buckets += (dt_u32)(n - n / factor);
	}
	return n_buckets;
}

static inline int dt_agg_is_distribution(dt_u32 kind)
{
	return kind == DTRACEAGG_quantize || kind == DTRACEAGG_lquantize ||
	       kind == DTRACEAGG_llquantize;
}

/*
 * Returns the index of the word that counts `number` in the value of a
 * distribution. The first word of lquantize() and llquantize() contains the
 * parameters.
 */
static inline dt_u32 dt_agg_word(dt_u32 kind, dt_u64 arg, dt_s64 number)
{
	switch (kind) {
	case DTRACEAGG_quantize:
		return dt_quantize_bucket(number);
	case DTRACEAGG_lquantize:
		return 1 + dt_lquantize_bucket(arg, number);
	default:
		return 1 + dt_llquantize_bucket(arg, number);
	}
}

/* The value of dt_action.arg if the action aggregates doubles. */
#define DT_AGG_FLOAT 1

static inline int dt_agg_is_float(dt_u32 kind, dt_u64 arg)
{
	switch (kind) {
	case DTRACEAGG_min:
	case DTRACEAGG_max:
	case DTRACEAGG_sum:
	case DTRACEAGG_avg:
	case DTRACEAGG_stddev:
		return arg == DT_AGG_FLOAT;
	default:
		return 0;
	}
}

/*
 * Returns the size in bytes of the value that an aggregating function keeps for
 * each key, or 0 if there is no function of this kind.
 */
static inline dt_u32 dt_agg_value_bytes(dt_u32 kind, dt_u64 arg)
{
	switch (kind) {
	case DTRACEAGG_count:
	case DTRACEAGG_min:
	case DTRACEAGG_max:
	case DTRACEAGG_sum:
		return 8;
	case DTRACEAGG_avg:
		return 16;
	case DTRACEAGG_stddev:
		return 32;
	case DTRACEAGG_quantize:
		return DTRACE_QUANTIZE_NBUCKETS * 8;
	case DTRACEAGG_lquantize:
		return (DTRACE_LQUANTIZE_LEVELS(arg) + 3u) * 8;
	case DTRACEAGG_llquantize:
		return (dt_llquantize_buckets(arg) + 1) * 8;
	default:
		return 0;
	}
}

#endif
