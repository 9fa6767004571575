/* SPDX-License-Identifier: MIT */
/* The dtmalloc provider. For kmalloc() and kfree(), cache is 0. For kfree(), bytes is also 0. */
provider dtmalloc {
	probe free(void *address, uintptr_t caller, struct kmem_cache *cache, size_t bytes);
	probe malloc(void *address, uintptr_t caller, struct kmem_cache *cache, size_t bytes);
};
