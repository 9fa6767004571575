/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The events of the cpc provider, with one row for each name. The types and configs are
 * the numbers in the kernel's linux/perf_event.h.
 *
 * X(name, type, config, default count)
 *
 * In a probe name, '_' may replace '-'. PAPI presets without a generic perf event have
 * no row. A D program can use a raw event instead.
 */
#ifndef KMOD_CPC_H
#define KMOD_CPC_H

#include "dif/types.h"

enum dt_cpc_type { DT_CPC_HARDWARE = 0, DT_CPC_SOFTWARE = 1, DT_CPC_CACHE = 3, DT_CPC_RAW = 4 };

/* The configs of the two software events that count nanoseconds. */
#define DT_CPC_CPU_CLOCK 0
#define DT_CPC_TASK_CLOCK 1

/*
 * The config of a cache event consists of the cache's number in linux/perf_event.h, an
 * operation (0: load, 1: store, 2: prefetch) and a result (0: accesses, 1: misses).
 */
#define DT_CPC_CACHED(cache, op, result) ((cache) | (op) << 8 | (result) << 16)

/* clang-format off */
#define DT_CPC_EVENTS(X)                                                                  \
	X("PAPI_tot_cyc",            DT_CPC_HARDWARE, 0, 1000000)                         \
	X("PAPI_tot_ins",            DT_CPC_HARDWARE, 1, 1000000)                         \
	X("PAPI_l3_tca",             DT_CPC_HARDWARE, 2, 1000000)                         \
	X("PAPI_l3_tcm",             DT_CPC_HARDWARE, 3, 1000000)                         \
	X("PAPI_br_ins",             DT_CPC_HARDWARE, 4, 1000000)                         \
	X("PAPI_br_msp",             DT_CPC_HARDWARE, 5, 1000000)                         \
	X("PAPI_ref_cyc",            DT_CPC_HARDWARE, 9, 1000000)                         \
	X("PAPI_l1_dcr",             DT_CPC_CACHE, DT_CPC_CACHED(0, 0, 0), 1000000)       \
	X("PAPI_l1_dcm",             DT_CPC_CACHE, DT_CPC_CACHED(0, 0, 1), 1000000)       \
	X("PAPI_l1_ldm",             DT_CPC_CACHE, DT_CPC_CACHED(0, 0, 1), 1000000)       \
	X("PAPI_l1_dcw",             DT_CPC_CACHE, DT_CPC_CACHED(0, 1, 0), 1000000)       \
	X("PAPI_l1_stm",             DT_CPC_CACHE, DT_CPC_CACHED(0, 1, 1), 1000000)       \
	X("PAPI_l1_icr",             DT_CPC_CACHE, DT_CPC_CACHED(1, 0, 0), 1000000)       \
	X("PAPI_l1_icm",             DT_CPC_CACHE, DT_CPC_CACHED(1, 0, 1), 1000000)       \
	X("PAPI_tlb_dm",             DT_CPC_CACHE, DT_CPC_CACHED(3, 0, 1), 1000000)       \
	X("PAPI_tlb_im",             DT_CPC_CACHE, DT_CPC_CACHED(4, 0, 1), 1000000)       \
	X("cpu-cycles",              DT_CPC_HARDWARE, 0, 1000000)                         \
	X("cycles",                  DT_CPC_HARDWARE, 0, 1000000)                         \
	X("instructions",            DT_CPC_HARDWARE, 1, 1000000)                         \
	X("cache-references",        DT_CPC_HARDWARE, 2, 1000000)                         \
	X("cache-misses",            DT_CPC_HARDWARE, 3, 1000000)                         \
	X("branch-instructions",     DT_CPC_HARDWARE, 4, 1000000)                         \
	X("branches",                DT_CPC_HARDWARE, 4, 1000000)                         \
	X("branch-misses",           DT_CPC_HARDWARE, 5, 1000000)                         \
	X("bus-cycles",              DT_CPC_HARDWARE, 6, 1000000)                         \
	X("stalled-cycles-frontend", DT_CPC_HARDWARE, 7, 1000000)                         \
	X("stalled-cycles-backend",  DT_CPC_HARDWARE, 8, 1000000)                         \
	X("ref-cycles",              DT_CPC_HARDWARE, 9, 1000000)                         \
	X("cpu-clock",               DT_CPC_SOFTWARE, DT_CPC_CPU_CLOCK, 1000000000)       \
	X("task-clock",              DT_CPC_SOFTWARE, DT_CPC_TASK_CLOCK, 1000000000)      \
	X("page-faults",             DT_CPC_SOFTWARE, 2, 100)                             \
	X("faults",                  DT_CPC_SOFTWARE, 2, 100)                             \
	X("context-switches",        DT_CPC_SOFTWARE, 3, 100)                             \
	X("cs",                      DT_CPC_SOFTWARE, 3, 100)                             \
	X("cpu-migrations",          DT_CPC_SOFTWARE, 4, 100)                             \
	X("migrations",              DT_CPC_SOFTWARE, 4, 100)                             \
	X("minor-faults",            DT_CPC_SOFTWARE, 5, 100)                             \
	X("major-faults",            DT_CPC_SOFTWARE, 6, 100)                             \
	X("alignment-faults",        DT_CPC_SOFTWARE, 7, 100)                             \
	X("emulation-faults",        DT_CPC_SOFTWARE, 8, 100)                             \
	X("cgroup-switches",         DT_CPC_SOFTWARE, 11, 100)                            \
	X("L1-dcache-loads",         DT_CPC_CACHE, DT_CPC_CACHED(0, 0, 0), 1000000)       \
	X("L1-dcache-load-misses",   DT_CPC_CACHE, DT_CPC_CACHED(0, 0, 1), 1000000)       \
	X("L1-dcache-stores",        DT_CPC_CACHE, DT_CPC_CACHED(0, 1, 0), 1000000)       \
	X("L1-dcache-store-misses",  DT_CPC_CACHE, DT_CPC_CACHED(0, 1, 1), 1000000)       \
	X("L1-icache-loads",         DT_CPC_CACHE, DT_CPC_CACHED(1, 0, 0), 1000000)       \
	X("L1-icache-load-misses",   DT_CPC_CACHE, DT_CPC_CACHED(1, 0, 1), 1000000)       \
	X("LLC-loads",               DT_CPC_CACHE, DT_CPC_CACHED(2, 0, 0), 1000000)       \
	X("LLC-load-misses",         DT_CPC_CACHE, DT_CPC_CACHED(2, 0, 1), 1000000)       \
	X("LLC-stores",              DT_CPC_CACHE, DT_CPC_CACHED(2, 1, 0), 1000000)       \
	X("LLC-store-misses",        DT_CPC_CACHE, DT_CPC_CACHED(2, 1, 1), 1000000)       \
	X("dTLB-loads",              DT_CPC_CACHE, DT_CPC_CACHED(3, 0, 0), 1000000)       \
	X("dTLB-load-misses",        DT_CPC_CACHE, DT_CPC_CACHED(3, 0, 1), 1000000)       \
	X("dTLB-stores",             DT_CPC_CACHE, DT_CPC_CACHED(3, 1, 0), 1000000)       \
	X("dTLB-store-misses",       DT_CPC_CACHE, DT_CPC_CACHED(3, 1, 1), 1000000)       \
	X("iTLB-loads",              DT_CPC_CACHE, DT_CPC_CACHED(4, 0, 0), 1000000)       \
	X("iTLB-load-misses",        DT_CPC_CACHE, DT_CPC_CACHED(4, 0, 1), 1000000)       \
	X("branch-loads",            DT_CPC_CACHE, DT_CPC_CACHED(5, 0, 0), 1000000)       \
	X("branch-load-misses",      DT_CPC_CACHE, DT_CPC_CACHED(5, 0, 1), 1000000)
/* clang-format on */

/*
 * In a struct dtk_site of kind DTK_CPC, the field `more` contains the count in the low
 * 48 bits, then 4 bits of mode (DT_CPC_USER, DT_CPC_KERNEL), then the type.
 */
#define DT_CPC_MAX_COUNT ((1ull << 48) - 1)
#define DT_CPC_USER 1
#define DT_CPC_KERNEL 2
#define DT_CPC_MORE(count, mode, type) ((count) | (dt_u64)(mode) << 48 | (dt_u64)(type) << 52)
#define DT_CPC_COUNT_OF(more) ((more) & DT_CPC_MAX_COUNT)
#define DT_CPC_MODE_OF(more) ((dt_u32)((more) >> 48) & 0xf)
#define DT_CPC_TYPE_OF(more) ((dt_u32)((more) >> 52))

/*
 * Returns the minimum count for an event. The minimum for events of the processor,
 * 5000, is from DTrace's documentation. With a smaller count, the counter could
 * overflow every few cycles. The two clocks count nanoseconds, and their minimum is
 * 200 us. The minimum for all other software events is 1.
 */
static inline dt_u64 dt_cpc_least(dt_u32 type, dt_u64 config)
{
	if (type != DT_CPC_SOFTWARE)
		return 5000;
	return config == DT_CPC_CPU_CLOCK || config == DT_CPC_TASK_CLOCK ? 200000 : 1;
}

#endif
