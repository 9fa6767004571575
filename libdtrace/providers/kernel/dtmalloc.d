/* SPDX-License-Identifier: MIT */
/* dtmalloc: of kmalloc() there is no cache, and kfree() does not say how many bytes they are. */
provider dtmalloc {
	probe free(void *address, uintptr_t caller, struct kmem_cache *cache, size_t bytes);
	probe malloc(void *address, uintptr_t caller, struct kmem_cache *cache, size_t bytes);
};
