/* SPDX-License-Identifier: MIT */
/* Defines the LTTng-UST provider bench_work with one tracepoint, `entry`. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER bench_work
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./bench_work.h"

#if !defined(BENCH_WORK_TRACEPOINT_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define BENCH_WORK_TRACEPOINT_H

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(bench_work, entry, LTTNG_UST_TP_ARGS(unsigned long, n),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(unsigned long, n,
                                                                       n)))

#endif

#include <lttng/tracepoint-event.h>
