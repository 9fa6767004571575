/* SPDX-License-Identifier: MIT */
/*
 * Reads and writes the memory of the target from inside it.
 *
 * Loads. dt_rt_copy() reads an address directly if the agent found it readable
 * before. If the load faults, the agent turns this into a fault of the D
 * clause. process_vm_readv() reads other addresses, page by page, so that *bad
 * is the first unreadable address. If the runtime may not make system calls,
 * dt_rt_copy() reads all addresses.
 *
 * Stores. If the runtime may make system calls, process_vm_writev() stores the
 * bytes. Otherwise dt_rt_copy() stores them. Both respect page protection. A
 * store to a shard's stack or to the session's arena fails.
 */
#include "ptrace-agent/runtime/host.h"

#define DT_PAGE 4096ull
#define DT_EFAULT 14
#define DT_LOOK 256 /* bytes of a string to read at once; most strings are shorter */

struct dt_rt_iovec {
	dt_u64 at, bytes;
};

dt_u64 dt_rt_known(struct dt_rt_run *run, dt_u64 addr)
{
	const struct dt_rt_config *config = &dt_rt_config;
	const struct dt_rt_range *r = config->ranges;
	dt_u32 n = config->n_ranges, seq = dt_acquire32(&config->ranges_seq);
	dt_u32 low = 0, high = n < DT_RT_MAX_RANGES ? n : DT_RT_MAX_RANGES;
	dt_u32 last = run->notes->range;
	dt_u64 left = 0;

	if (seq & 1)
		return 0;
	if (DT_LIKELY(last < high &&
		      addr - r[last].start < r[last].end - r[last].start)) {
		left = r[last].end - addr;
	} else {
		while (low < high) {
			dt_u32 mid = (low + high) / 2;

			if (addr >= r[mid].end)
				low = mid + 1;
			else
				high = mid;
		}
		if (low < n && low < DT_RT_MAX_RANGES && addr >= r[low].start &&
		    addr < r[low].end) {
			left = r[low].end - addr;
			run->notes->range = low;
		}
	}
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return dt_once32(&config->ranges_seq) == seq ? left : 0;
}

/*
 * Returns the address that faulted. The processor does not report an address
 * that is not canonical. In that case, returns addr.
 */
static dt_u64 dt_rt_bad(struct dt_rt_copied copied, dt_u64 addr)
{
	return copied.at ? copied.at : addr;
}

static int dt_rt_direct(dt_u64 addr, void *to, dt_u64 bytes, dt_u64 *bad)
{
	struct dt_rt_copied copied = dt_rt_copy(to, (const void *)addr, bytes);

	if (copied.failed)
		*bad = dt_rt_bad(copied, addr);
	return copied.failed ? -1 : 0;
}

/*
 * Copies bytes within one page with a system call. Returns 0 on success, -1 if
 * the bytes are not accessible, and 1 if the kernel refuses the call.
 */
static int dt_rt_by_kernel(dt_u64 call, dt_u64 addr, const void *local,
			   dt_u64 bytes)
{
	struct dt_rt_iovec here = {(dt_u64)local, bytes}, there = {addr, bytes};
	dt_u64 pid = (dt_u64)dt_rt_syscall(DT_SYS_getpid, 0, 0, 0, 0, 0, 0);
	dt_s64 done =
	    dt_rt_syscall(call, pid, (dt_u64)&here, 1, (dt_u64)&there, 1, 0);

	if (done == (dt_s64)bytes)
		return 0;
	return done >= 0 || done == -DT_EFAULT ? -1 : 1;
}

static int dt_rt_load_page(dt_u64 addr, void *to, dt_u64 bytes, dt_u64 *bad)
{
	int result = 1;

	if (dt_rt_config.may_call)
		result =
		    dt_rt_by_kernel(DT_SYS_process_vm_readv, addr, to, bytes);
	if (result > 0)
		return dt_rt_direct(addr, to, bytes, bad);
	if (result < 0)
		*bad = addr;
	return result;
}

/*
 * Returns how many bytes to load from addr in one step. Sets *known to whether
 * the agent's table contains the address. If it does not, the step stays within
 * the page.
 */
static dt_u64 dt_rt_step(struct dt_rt_run *run, dt_u64 addr, dt_u64 bytes,
			 int *known)
{
	dt_u64 n = dt_rt_known(run, addr);

	*known = n != 0;
	if (!n)
		n = DT_PAGE - addr % DT_PAGE;
	return n < bytes ? n : bytes;
}

int dt_rt_load(struct dt_host *host, dt_u64 addr, void *to, dt_u64 bytes,
	       dt_u64 *bad)
{
	dt_u8 *into = to;

	while (bytes) {
		int known;
		dt_u64 n = dt_rt_step(dt_rt_run_of(host), addr, bytes, &known);
		int result = known ? dt_rt_direct(addr, into, n, bad)
				   : dt_rt_load_page(addr, into, n, bad);

		if (DT_UNLIKELY(result != 0))
			return -1;
		addr += n;
		into += n;
		bytes -= n;
	}
	return 0;
}

dt_s64 dt_rt_load_string(struct dt_host *host, dt_u64 addr, char *to,
			 dt_u64 max, dt_u64 *bad)
{
	dt_u64 length = 0;

	while (length < max) {
		int known;
		dt_u64 n = dt_rt_step(dt_rt_run_of(host), addr + length,
				      max - length, &known);

		if (known) {
			struct dt_rt_copied c = dt_rt_copy_string(
			    to + length, (const char *)(addr + length), n);

			if (c.failed) {
				*bad = dt_rt_bad(c, addr + length);
				return -1;
			}
			length += c.at;
			if (c.at < n)
				return (dt_s64)length;
			continue;
		}
		if (n > DT_LOOK)
			n = DT_LOOK;
		if (dt_rt_load_page(addr + length, to + length, n, bad) != 0)
			return -1;
		for (dt_u64 i = 0; i < n; i++) {
			if (!to[length + i])
				return (dt_s64)(length + i);
		}
		length += n;
	}
	return (dt_s64)length;
}

static int dt_rt_overlaps(dt_u64 addr, dt_u64 bytes, dt_u64 start, dt_u64 n)
{
	return addr < start + n && start < addr + bytes;
}

/* Returns whether the range overlaps the arena or the stacks of any session. */
static int dt_rt_is_ours(dt_u64 addr, dt_u64 bytes)
{
	for (dt_u32 i = 0; i < DT_RT_MAX_SESSIONS; i++) {
		const struct dt_rt_session *session = &dt_rt_config.sessions[i];

		if (session->n_shards &&
		    (dt_rt_overlaps(addr, bytes, session->arena,
				    session->arena_bytes) ||
		     dt_rt_overlaps(addr, bytes, session->stacks,
				    session->n_shards * DT_RT_STACK_BYTES)))
			return 1;
	}
	return 0;
}

int dt_rt_store(struct dt_host *host, dt_u64 addr, const void *from,
		dt_u64 bytes, dt_u64 *bad)
{
	const dt_u8 *bytes_from = from;

	(void)host;
	if (bytes && dt_rt_is_ours(addr, bytes)) {
		*bad = addr;
		return -1;
	}
	while (bytes) {
		dt_u64 n = DT_PAGE - addr % DT_PAGE;
		int result = 1;

		if (n > bytes)
			n = bytes;
		if (dt_rt_config.may_call)
			result = dt_rt_by_kernel(DT_SYS_process_vm_writev, addr,
						 bytes_from, n);
		if (result > 0) {
			struct dt_rt_copied c =
			    dt_rt_copy((void *)addr, bytes_from, n);

			if (c.failed) {
				*bad = dt_rt_bad(c, addr);
				return -1;
			}
		} else if (result < 0) {
			*bad = addr;
			return -1;
		}
		addr += n;
		bytes_from += n;
		bytes -= n;
	}
	return 0;
}
