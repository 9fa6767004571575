/* SPDX-License-Identifier: MIT */
/* The dtmalloc provider. kmalloc() has no cache, and kfree() does not know the size. */
provider dtmalloc {
	probe free(void *address, uintptr_t caller, struct kmem_cache *cache, size_t bytes);
	probe malloc(void *address, uintptr_t caller, struct kmem_cache *cache, size_t bytes);
};
