// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Limits the kernel memory that consumers use, and copies the data that they
 * pass in.
 *
 * All consumers together may use half of the machine's memory, or the number of
 * MiB in the parameter `memory`. A request that exceeds this limit fails with
 * ENOMEM. Memory is also charged to the control group of the process
 * (GFP_KERNEL_ACCOUNT). If the machine runs out of memory, a request fails
 * instead of invoking the OOM killer.
 */
#include "kmod/consumer.h"

#include <linux/mm.h>
#include <linux/module.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

static unsigned int memory;
module_param(memory, uint, 0644);
MODULE_PARM_DESC(memory, "maximum memory in MiB for all consumers together (default 0 = half of the machine's memory)");

static atomic64_t dt_taken;

static u64 dt_limit(void)
{
	u64 mib = READ_ONCE(memory);

	return mib ? mib << 20 : ((u64)totalram_pages() << PAGE_SHIFT) / 2;
}

int dt_memory_take(struct dt_consumer *c, u64 bytes)
{
	if (bytes > dt_limit())
		return -ENOMEM;
	if (atomic64_add_return((s64)bytes, &dt_taken) > (s64)dt_limit()) {
		atomic64_sub((s64)bytes, &dt_taken);
		return -ENOMEM;
	}
	c->memory_bytes += bytes;
	return 0;
}

void dt_memory_give(struct dt_consumer *c, u64 bytes)
{
	c->memory_bytes -= bytes;
	atomic64_sub((s64)bytes, &dt_taken);
}

void *dt_make(struct dt_consumer *c, u64 bytes)
{
	void *made;

	if (dt_memory_take(c, bytes))
		return NULL;
	made = kvzalloc(bytes, GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN);
	if (!made)
		dt_memory_give(c, bytes);
	return made;
}

void dt_free(struct dt_consumer *c, void *made, u64 bytes)
{
	if (!made)
		return;
	kvfree(made);
	dt_memory_give(c, bytes);
}

void *dt_copy_in(struct dt_consumer *c, u64 from, u64 bytes)
{
	void *copy;

	if (!bytes)
		return ERR_PTR(-EINVAL);
	copy = dt_make(c, bytes);
	if (!copy)
		return ERR_PTR(-ENOMEM);
	if (copy_from_user(copy, (void __user *)from, bytes)) {
		dt_free(c, copy, bytes);
		return ERR_PTR(-EFAULT);
	}
	return copy;
}

void *dt_make_pages(struct dt_consumer *c, u64 bytes)
{
	void *made;

	if (dt_memory_take(c, bytes))
		return NULL;
	made = __vmalloc(bytes, GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_RETRY_MAYFAIL |
				    __GFP_NOWARN);
	if (!made)
		dt_memory_give(c, bytes);
	return made;
}
