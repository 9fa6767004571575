// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Implements the lockstat probes, which fire when kernel locks are used. arg0
 * is the lock.
 *
 * A lock counts as held from the return of the function that acquires it to the
 * entry of the function that releases it. The adaptive probes fire for mutexes.
 * The rw probes fire for struct rw_semaphore and rwlock_t.
 *
 * In rw-acquire and rw-release, arg1 is 1 for a reader and 0 for a writer. In
 * the spin and block probes, arg1 is the waiting time in ns, which waits.c
 * measures. In rw-spin and rw-block, arg2 is 1 for a reader and 0 for a writer.
 */
#include "abi/stable.h"
#include "kmod/waits.h"

enum { DT_WRITER, DT_READER };

/* Returns the number of arguments, or -1 if the probe must not fire. */
static int dt_lock(u64 lock, bool held, u64 *out)
{
	out[0] = lock;
	return held ? 1 : -1;
}

static int dt_rw(u64 lock, bool held, u64 who, u64 *out)
{
	out[0] = lock;
	out[1] = who;
	return held ? 2 : -1;
}

/*
 * Called when a locking function has returned. in[0] is the returned value,
 * in[1] is the lock. The suffix of the name says which result means success: 0
 * for _if_0, true for _if_1.
 */
int dt_choose_lock_taken(const u64 *in, u64 *out)
{
	return dt_lock(in[1], true, out);
}

int dt_choose_lock_taken_if_0(const u64 *in, u64 *out)
{
	return dt_lock(in[1], !(u32)in[0], out);
}

int dt_choose_lock_taken_if_1(const u64 *in, u64 *out)
{
	return dt_lock(in[1], (u32)in[0], out);
}

int dt_choose_lock_read(const u64 *in, u64 *out)
{
	return dt_rw(in[1], true, DT_READER, out);
}

int dt_choose_lock_read_if_0(const u64 *in, u64 *out)
{
	return dt_rw(in[1], !(u32)in[0], DT_READER, out);
}

int dt_choose_lock_read_if_1(const u64 *in, u64 *out)
{
	return dt_rw(in[1], (u32)in[0], DT_READER, out);
}

int dt_choose_lock_written(const u64 *in, u64 *out)
{
	return dt_rw(in[1], true, DT_WRITER, out);
}

int dt_choose_lock_written_if_0(const u64 *in, u64 *out)
{
	return dt_rw(in[1], !(u32)in[0], DT_WRITER, out);
}

int dt_choose_lock_written_if_1(const u64 *in, u64 *out)
{
	return dt_rw(in[1], (u32)in[0], DT_WRITER, out);
}

/* in[0] is the lock, an argument of the function that is being entered. */
int dt_choose_lock_given(const u64 *in, u64 *out)
{
	return dt_lock(in[0], true, out);
}

int dt_choose_lock_read_given(const u64 *in, u64 *out)
{
	return dt_rw(in[0], true, DT_READER, out);
}

int dt_choose_lock_written_given(const u64 *in, u64 *out)
{
	return dt_rw(in[0], true, DT_WRITER, out);
}

/*
 * Returns the wait that ends at the tracepoint contention_end(lock, result).
 * Returns null if the wait is not known or the lock was not obtained.
 */
static const struct dt_wait *dt_got(const u64 *in)
{
	const struct dt_wait *wait = dt_wait_of(in[0]);

	return wait && !wait->failed ? wait : NULL;
}

static int dt_waited(const u64 *in, u64 ns, u64 *out)
{
	out[0] = in[0];
	out[1] = ns;
	return 2;
}

int dt_choose_lock_adaptive_spin(const u64 *in, u64 *out)
{
	const struct dt_wait *wait = dt_got(in);

	if (!wait || !(wait->flags & LCB_F_MUTEX) || wait->slept)
		return -1;
	return dt_waited(in, wait->spun_ns, out);
}

int dt_choose_lock_adaptive_block(const u64 *in, u64 *out)
{
	const struct dt_wait *wait = dt_got(in);

	if (!wait || !(wait->flags & (LCB_F_MUTEX | LCB_F_RT)) || !wait->slept)
		return -1;
	return dt_waited(in, wait->slept_ns, out);
}

#define DT_RW (LCB_F_READ | LCB_F_WRITE)

int dt_choose_lock_spin(const u64 *in, u64 *out)
{
	const struct dt_wait *wait = dt_got(in);

	if (!wait || (wait->flags & (LCB_F_SPIN | LCB_F_MUTEX | DT_RW)) != LCB_F_SPIN)
		return -1;
	return dt_waited(in, wait->spun_ns, out);
}

int dt_choose_lock_rw_spin(const u64 *in, u64 *out)
{
	const struct dt_wait *wait = dt_got(in);

	if (!wait || !(wait->flags & DT_RW) || !(wait->flags & LCB_F_SPIN))
		return -1;
	dt_waited(in, wait->spun_ns, out);
	out[2] = wait->flags & LCB_F_READ ? DT_READER : DT_WRITER;
	return 3;
}

/*
 * In the count of a struct rw_semaphore, the bit DT_RWSEM_WRITER is set while a
 * writer holds the semaphore. The number of readers begins at bit
 * DT_RWSEM_READERS.
 */
#define DT_RWSEM_WRITER 1
#define DT_RWSEM_READERS 8

int dt_choose_lock_rw_block(const u64 *in, u64 *out)
{
	const struct dt_wait *wait = dt_got(in);

	if (!wait || !(wait->flags & DT_RW) || wait->flags & LCB_F_SPIN)
		return -1;
	dt_waited(in, wait->slept_ns, out);
	out[2] = wait->flags & LCB_F_READ ? DT_READER : DT_WRITER;
	if (wait->flags & LCB_F_PERCPU)
		return 3;
	out[3] = wait->rwsem & DT_RWSEM_WRITER;
	out[4] = out[3] || (s64)wait->rwsem < 0 ? 0 : wait->rwsem >> DT_RWSEM_READERS;
	return 5;
}
