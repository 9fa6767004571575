/* SPDX-License-Identifier: MIT */
/*
 * The probes of the plockstat provider; check/derive_probes.cpp describes the form of this text. A group in a name, as in
 * mutex-acquire.cond, selects the rows of the same name in PlockstatProvider::rows(). arg1 of a return probe is the
 * function's result.
 *
 * The offsets into locks are those of glibc and musl on x86-64. Each expression is right for both:
 * - The type of a mutex is the word at 16 in glibc, and at 0 in musl, where the word at 16 is 0. The type 1 is a recursive
 *   mutex. glibc counts its owner's locks at offset 4, beginning with 1. musl counts them at offset 20, beginning with 0.
 *   The word at 20 is 0 in a glibc mutex of the type 0.
 * - A lock for writing has the thread's id at 24 in glibc, and 0x7fffffff at 0 in musl, where the word at 24 is 0.
 *
 * In musl, pthread_mutex_timedlock() calls pthread_mutex_trylock(), and the timed functions of reader-writer locks also call
 * their try functions. `nested` is 1 while such an outer function runs. The groups whose names begin with `try` are for
 * musl only.
 *
 * The number of futex(2) is 202. It waits if the operation is FUTEX_WAIT (0), FUTEX_LOCK_PI (6), FUTEX_WAIT_BITSET (9) or
 * FUTEX_LOCK_PI2 (13). If the result is EOWNERDEAD (130), the mutex was acquired. EBUSY (16) is the result of trylock for a
 * mutex that another thread owns. pthread_mutex_unlock() and pthread_cond_wait() of glibc end with the same code, so
 * `unlocked` is 0 while a thread waits for a condition.
 */
self uint64_t mutex;
self uint64_t unlocked;
self uint64_t rwlock;
self uint64_t rw_unlocked;
self int writes;
self int unlock_writes;
self int mutex_waited;
self int rwlock_waited;
self int once;
self int nested;

plockstat:::mutex-begin { self->mutex = arg0; self->mutex_waited = 0; self->once = 0; }
plockstat:::mutex-begin.cond { self->mutex = arg1; self->unlocked = 0; self->mutex_waited = 0; self->once = 0; }
plockstat:::mutex-begin.try /self->nested == 0/ { self->mutex = arg0; self->mutex_waited = 0; self->once = 0; }
plockstat:::nested-begin { self->nested = 1; }
plockstat:::nested-end { self->nested = 0; }
plockstat:::mutex-begin.unlock { self->unlocked = arg0; }
plockstat:::mutex-wait
/(uint32_t)uregs[R_RAX] == 202 && (uint64_t)arg0 - self->mutex < 40 &&
    ((arg1 & 127) == 0 || (arg1 & 127) == 6 || (arg1 & 127) == 9 || (arg1 & 127) == 13)/
{
	self->mutex_waited = 1;
}

plockstat:::mutex-block
/(uint32_t)uregs[R_RAX] == 202 && (uint64_t)arg0 - self->mutex < 40 &&
    ((arg1 & 127) == 0 || (arg1 & 127) == 6 || (arg1 & 127) == 9 || (arg1 & 127) == 13) && self->once++ == 0/
{
	(void *)self->mutex;
}

plockstat:::mutex-blocked
/self->mutex != 0 && self->mutex_waited != 0/
{
	(void *)self->mutex;
	(int)((int)arg1 == 0 || (int)arg1 == 130);
}

plockstat:::mutex-blocked.cond
/self->mutex != 0 && self->mutex_waited != 0/
{
	(void *)self->mutex;
	1;
}

plockstat:::mutex-acquire
/self->mutex != 0 && ((int)arg1 == 0 || (int)arg1 == 130)/
{
	(void *)self->mutex;
	(int)((*(int *)copyin(self->mutex + 16, 4) & 3) == 1 ? *(int *)copyin(self->mutex + 4, 4) > 1 :
	    *(int *)copyin(self->mutex + 16, 4) == 0 && (*(int *)copyin(self->mutex, 4) & 3) == 1 &&
	    *(int *)copyin(self->mutex + 20, 4) > 0);
	0;
}

plockstat:::mutex-acquire.try
/self->nested == 0 && self->mutex != 0 && ((int)arg1 == 0 || (int)arg1 == 130)/
{
	(void *)self->mutex;
	(int)((*(int *)copyin(self->mutex, 4) & 3) == 1 && *(int *)copyin(self->mutex + 20, 4) > 0);
	0;
}

plockstat:::mutex-acquire.cond
/self->mutex != 0/
{
	(void *)self->mutex;
	0;
	0;
}

plockstat:::mutex-release
{
	(void *)arg0;
	(int)((*(int *)copyin(arg0 + 16, 4) & 3) == 1 ? *(int *)copyin(arg0 + 4, 4) > 1 :
	    *(int *)copyin(arg0 + 16, 4) == 0 && (*(int *)copyin(arg0, 4) & 3) == 1 && *(int *)copyin(arg0 + 20, 4) > 0);
}

plockstat:::mutex-release.cond
{
	(void *)arg1;
	0;
}

plockstat:::mutex-error
/self->mutex != 0 && (int)arg1 != 0 && (int)arg1 != 130 && (int)arg1 != 16/
{
	(void *)self->mutex;
	(int)arg1;
}

plockstat:::mutex-error.unlock
/self->unlocked != 0 && (int)arg1 != 0/
{
	(void *)self->unlocked;
	(int)arg1;
}

plockstat:::rw-begin.read { self->rwlock = arg0; self->writes = 0; self->rwlock_waited = 0; self->once = 0; }
plockstat:::rw-begin.write { self->rwlock = arg0; self->writes = 1; self->rwlock_waited = 0; self->once = 0; }
plockstat:::rw-begin.tryread
/self->nested == 0/
{
	self->rwlock = arg0;
	self->writes = 0;
	self->rwlock_waited = 0;
	self->once = 0;
}
plockstat:::rw-begin.trywrite
/self->nested == 0/
{
	self->rwlock = arg0;
	self->writes = 1;
	self->rwlock_waited = 0;
	self->once = 0;
}
plockstat:::rw-begin.unlock
{
	self->rw_unlocked = arg0;
	self->unlock_writes = (*(int *)copyin(arg0, 4) & 0x7fffffff) == 0x7fffffff || *(int *)copyin(arg0 + 24, 4) != 0;
}
plockstat:::rw-wait
/(uint32_t)uregs[R_RAX] == 202 && (uint64_t)arg0 - self->rwlock < 56 &&
    ((arg1 & 127) == 0 || (arg1 & 127) == 9)/
{
	self->rwlock_waited = 1;
}

plockstat:::rw-block
/(uint32_t)uregs[R_RAX] == 202 && (uint64_t)arg0 - self->rwlock < 56 &&
    ((arg1 & 127) == 0 || (arg1 & 127) == 9) && self->once++ == 0/
{
	(void *)self->rwlock;
	self->writes;
}

plockstat:::rw-blocked
/self->rwlock != 0 && self->rwlock_waited != 0/
{
	(void *)self->rwlock;
	self->writes;
	(int)((int)arg1 == 0);
}

plockstat:::rw-acquire
/self->rwlock != 0 && (int)arg1 == 0/
{
	(void *)self->rwlock;
	self->writes;
}

plockstat:::rw-acquire.try
/self->nested == 0 && self->rwlock != 0 && (int)arg1 == 0/
{
	(void *)self->rwlock;
	self->writes;
}

plockstat:::rw-release
{
	(void *)arg0;
	(int)((*(int *)copyin(arg0, 4) & 0x7fffffff) == 0x7fffffff || *(int *)copyin(arg0 + 24, 4) != 0);
}

plockstat:::rw-error
/self->rwlock != 0 && (int)arg1 != 0 && (int)arg1 != 16/
{
	(void *)self->rwlock;
	self->writes;
	(int)arg1;
}

plockstat:::rw-error.unlock
/self->rw_unlocked != 0 && (int)arg1 != 0/
{
	(void *)self->rw_unlocked;
	self->unlock_writes;
	(int)arg1;
}
