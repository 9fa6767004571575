// SPDX-License-Identifier: MIT
// Adds the mode `tracepoint` to tests/victims/timed. In this mode, the program calls a
// copy of work() with an LTTng-UST tracepoint, which records the argument.
#define LTTNG_UST_TRACEPOINT_DEFINE
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#include "bench_work.h"

static __thread volatile unsigned long sink;
__attribute__((noinline, noclone)) static unsigned long tracepoint_work(unsigned long n)
{
    lttng_ust_tracepoint(bench_work, entry, n);
    n *= 0x9e3779b97f4a7c15UL;
    n ^= n >> 29;
    sink = n;
    return n;
}

#define EXTRA_MODES {"tracepoint", tracepoint_work},
#define sink timed_sink
#include TIMED
