/* SPDX-License-Identifier: MIT */
/*
 * The lockstat provider. An adaptive lock is a struct mutex, and a spin lock is
 * a struct raw_spinlock. An rw lock is a struct rw_semaphore or an rwlock_t.
 */
provider lockstat {
	probe adaptive-acquire(struct mutex *lock);
	probe adaptive-block(struct mutex *lock, uint64_t ns);
	probe adaptive-release(struct mutex *lock);
	probe adaptive-spin(struct mutex *lock, uint64_t ns);
	probe rw-acquire(void *lock, int is_reader);
	probe rw-block(void *lock, uint64_t ns, int is_reader, int was_written, uint64_t n_readers);
	probe rw-downgrade(struct rw_semaphore *lock);
	probe rw-release(void *lock, int is_reader);
	probe rw-spin(void *lock, uint64_t ns, int is_reader);
	probe spin-acquire(struct raw_spinlock *lock);
	probe spin-release(struct raw_spinlock *lock);
	probe spin-spin(struct raw_spinlock *lock, uint64_t ns);
};
