// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Reads the owner and the state of a mutex or rw_semaphore. The encoding is
 * internal to the kernel (kernel/locking/mutex.h and rwsem.c) and has not
 * changed since Linux 5.3. The locks of real-time kernels are not supported.
 */
#include "kmod/ask_lock.h"

#include "dif/subrs.h"
#include "kmod/consumer.h"

#include <linux/bits.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/sched.h>
#include <linux/uaccess.h>

#ifdef CONFIG_PREEMPT_RT

int dt_ask_lock(u32 subr, u64 lock, u64 *value, u64 *bad)
{
	*bad = lock;
	return -1;
}

#else

enum {
	DT_OWNER_FLAGS = 7, /* low bits of the owner's address that are flags */
	/*
	 * In the count of an rw_semaphore, bit 0 is set while a writer holds
	 * the semaphore. Bits 8 to 62 are the number of readers.
	 */
	DT_RW_WRITER = 1,
	DT_RW_READERS_AT = 8,
	DT_RW_READERS_END = 63,
};

static int dt_word(const void *at, u64 *value, u64 *bad)
{
	*bad = (u64)at;
	if (!dt_may_read((u64)at, sizeof(*value)))
		return -1;
	return copy_from_kernel_nofault(value, at, sizeof(*value)) ? -1 : 0;
}

static u64 dt_owner(u64 owner)
{
	return owner & ~(u64)DT_OWNER_FLAGS;
}

static int dt_ask_mutex(u32 subr, const struct mutex *lock, u64 *value, u64 *bad)
{
	u64 owner;

	if (dt_word(&lock->owner, &owner, bad))
		return -1;
	switch (subr) {
	case DIF_SUBR_mutex_owned:
		*value = dt_owner(owner) == (u64)current;
		return 0;
	case DIF_SUBR_mutex_owner:
		*value = dt_owner(owner);
		return 0;
	default:
		*value = subr == DIF_SUBR_mutex_type_adaptive;
		return 0;
	}
}

static int dt_ask_rw(u32 subr, const struct rw_semaphore *lock, u64 *value, u64 *bad)
{
	u64 count, owner;

	if (dt_word(&lock->count, &count, bad) || dt_word(&lock->owner, &owner, bad))
		return -1;
	switch (subr) {
	case DIF_SUBR_rw_read_held:
		*value = !(count & DT_RW_WRITER) &&
			 (count & GENMASK_ULL(DT_RW_READERS_END - 1, DT_RW_READERS_AT));
		return 0;
	case DIF_SUBR_rw_write_held:
		*value = count & DT_RW_WRITER;
		return 0;
	default:
		*value = (count & DT_RW_WRITER) && dt_owner(owner) == (u64)current;
		return 0;
	}
}

int dt_ask_lock(u32 subr, u64 lock, u64 *value, u64 *bad)
{
	switch (subr) {
	case DIF_SUBR_rw_read_held:
	case DIF_SUBR_rw_write_held:
	case DIF_SUBR_rw_iswriter:
		return dt_ask_rw(subr, (const struct rw_semaphore *)lock, value, bad);
	default:
		return dt_ask_mutex(subr, (const struct mutex *)lock, value, bad);
	}
}

#endif
