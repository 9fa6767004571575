// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Implements the dtmalloc probes, which fire when kernel memory is allocated or
 * freed. arg0 is the address, arg1 the caller, arg2 the cache (struct
 * kmem_cache) or 0, and arg3 the number of bytes.
 */
#include "abi/stable.h"

#include <linux/slab.h>

static int dt_memory(u64 address, u64 caller, u64 cache, u64 n_bytes, u64 *out)
{
	out[0] = address;
	out[1] = caller;
	out[2] = cache;
	out[3] = n_bytes;
	return address ? 4 : -1;
}

static u64 dt_size(u64 cache)
{
	return cache ? kmem_cache_size((struct kmem_cache *)cache) : 0;
}

/* @in: arguments of the tracepoint kmalloc(caller, address, size, ...) */
int dt_choose_alloc_kmalloc(const u64 *in, u64 *out)
{
	return dt_memory(in[1], in[0], 0, in[2], out);
}

/*
 * @in: arguments of the tracepoint kmem_cache_alloc(caller, address, cache,
 * ...) or kmem_cache_free()
 */
int dt_choose_alloc_cache(const u64 *in, u64 *out)
{
	return dt_memory(in[1], in[0], in[2], dt_size(in[2]), out);
}

/* @in: arguments of the tracepoint kfree(caller, address), which has no size */
int dt_choose_alloc_kfree(const u64 *in, u64 *out)
{
	return dt_memory(in[1], in[0], 0, 0, out);
}
