/* SPDX-License-Identifier: MIT */
/* The dtmalloc provider. The cache of kmalloc() and kfree() is 0, and so is the size of kfree(). */
provider dtmalloc {
	probe free(void *address, uintptr_t caller, struct kmem_cache *cache, size_t bytes);
	probe malloc(void *address, uintptr_t caller, struct kmem_cache *cache, size_t bytes);
};
