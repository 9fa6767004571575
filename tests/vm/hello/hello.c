// SPDX-License-Identifier: MIT OR GPL-2.0
// The smallest kernel module. It shows whether building, loading and unloading work.
#include <linux/module.h>

static int __init hello_begin(void)
{
	pr_info("hello: loaded\n");
	return 0;
}

static void __exit hello_end(void)
{
	pr_info("hello: unloaded\n");
}

module_init(hello_begin);
module_exit(hello_end);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("says that it is there");
