/* SPDX-License-Identifier: MIT */
/*
 * Time in a target. The clock line (struct dt_clock) consists of a starting
 * point and a factor, which the consumer updates. With the clock line, the
 * runtime converts the processor's time stamp counter to nanoseconds. Without
 * it, the kernel or an upcall gives the time.
 *
 * If the consumer is rewriting the line, the runtime tries to read it only a
 * limited number of times. If the time is not available, the result is 0, and
 * the engine uses the shard's last time.
 */
#include "ptrace-agent/runtime/host.h"

#define DT_CLOCK_TRIES 64
enum {
	DT_CLOCK_REALTIME = 0,
	DT_CLOCK_MONOTONIC = 1,
	DT_CLOCK_THREAD_CPUTIME_ID = 3
};

struct dt_rt_timespec {
	dt_s64 seconds, ns;
};

static dt_u64 dt_rt_counter(void)
{
	dt_u32 low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (dt_u64)high << 32 | low;
}

/*
 * Reads the clock line once. *at is the time in ns when the time stamp counter
 * was c->tsc. Returns 0 and sets *ns to the current time. Returns 1 if the line
 * was being rewritten, or -1 if there is no line.
 */
DT_INLINE int dt_rt_look(const struct dt_clock *c, const dt_u64 *at, dt_u64 *ns)
{
	dt_u32 seq = dt_acquire32(&c->seq), shift;
	dt_u64 passed, start, mult;

	if (DT_UNLIKELY(!seq))
		return -1;
	passed = dt_rt_counter() - dt_once64(&c->tsc);
	start = dt_once64(at);
	mult = dt_once64(&c->mult);
	shift = dt_once32(&c->shift) & 63;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (DT_UNLIKELY((seq & 1) || dt_once32(&c->seq) != seq))
		return 1;
	/*
	 * The counter of this CPU may be lower than that of the consumer's CPU.
	 */
	if (DT_UNLIKELY(passed >> 63))
		passed = 0;
	*ns = start + (dt_u64)((unsigned __int128)passed * mult >> shift);
	return 0;
}

static __attribute__((noinline)) int
dt_rt_look_again(const struct dt_clock *c, const dt_u64 *at, dt_u64 *ns)
{
	for (int i = 0; i < DT_CLOCK_TRIES; i++) {
		int result = dt_rt_look(c, at, ns);

		if (result <= 0)
			return result;
		dt_pause();
	}
	return -1;
}

DT_INLINE const struct dt_clock *dt_rt_clock(struct dt_host *host)
{
	const struct dt_arena *arena = host->arena;
	const struct dt_session *session = dt_at(arena, arena->session);

	return &session->clock;
}

static dt_u64 dt_rt_kernel_time(struct dt_host *host, dt_u64 clock, dt_u32 op)
{
	struct dt_rt_timespec t;
	dt_u64 ns = 0;

	if (dt_rt_config.may_call && dt_rt_syscall(DT_SYS_clock_gettime, clock,
						   (dt_u64)&t, 0, 0, 0, 0) == 0)
		return (dt_u64)t.seconds * 1000000000ull + (dt_u64)t.ns;
	dt_rt_ask(dt_rt_run_of(host), op, 0, 0, 0, &ns);
	return ns;
}

dt_u64 dt_rt_timestamp(struct dt_host *host)
{
	const struct dt_clock *c = dt_rt_clock(host);
	dt_u64 ns;

	if (DT_LIKELY(dt_rt_look(c, &c->mono_ns, &ns) == 0) ||
	    dt_rt_look_again(c, &c->mono_ns, &ns) == 0)
		return ns;
	return dt_rt_kernel_time(host, DT_CLOCK_MONOTONIC, DT_RT_UP_TIMESTAMP);
}

dt_u64 dt_rt_walltime(struct dt_host *host)
{
	const struct dt_clock *c = dt_rt_clock(host);
	dt_u64 ns;

	if (dt_rt_look_again(c, &c->wall_ns, &ns) == 0)
		return ns;
	return dt_rt_kernel_time(host, DT_CLOCK_REALTIME, DT_RT_UP_WALLTIME);
}

dt_u64 dt_rt_vtimestamp(struct dt_host *host)
{
	return dt_rt_kernel_time(host, DT_CLOCK_THREAD_CPUTIME_ID,
				 DT_RT_UP_VTIMESTAMP);
}
