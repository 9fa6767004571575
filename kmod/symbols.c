// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Finds kernel symbols by name, and functions that must not be probed.
 *
 * kallsyms_lookup_name() is not exported, but registering a disabled kprobe on
 * it yields its address. Our code calls the function at this address through a
 * static call, because indirect branch tracking (IBT) would refuse an indirect
 * call.
 *
 * kprobe_blacklist contains the functions that kprobes must not probe. Return
 * probes use a kretprobe (fbt_return.c), so this module must not probe the
 * functions on this list either. This file keeps a copy of the list, and reads
 * it again after modules have been loaded or removed.
 *
 * The compiler may split a function. If nmi_handle() is on the list, for
 * example, its part nmi_handle.part.0() is forbidden too. The kernel applies
 * the same rule.
 */
#include "kmod/symbols.h"

#include <linux/kallsyms.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/static_call.h>
#include <linux/string.h>

#include <asm/insn.h>

#define DT_NAME_BYTES 128

struct dt_forbidden {
	unsigned long start, end;
	char name[DT_NAME_BYTES];
};

static struct dt_forbidden *dt_list;
static u32 dt_n_listed;
static bool dt_is_current;

static unsigned long dt_no_symbol(const char *name)
{
	return 0;
}

DEFINE_STATIC_CALL(dt_lookup, dt_no_symbol);

unsigned long dt_kernel_symbol(const char *name)
{
	return static_call(dt_lookup)(name);
}

static int dt_no_decoder(struct insn *insn, const void *text, int bytes, enum insn_mode mode)
{
	return -EOPNOTSUPP;
}

DEFINE_STATIC_CALL(dt_decoder, dt_no_decoder);

int dt_decode(struct insn *insn, const void *text, int bytes)
{
	return static_call(dt_decoder)(insn, text, bytes, INSN_MODE_64);
}

int dt_symbols_begin(void)
{
	unsigned long decoder;
	struct kprobe probe = {.symbol_name = "kallsyms_lookup_name",
			       .flags = KPROBE_FLAG_DISABLED};
	int error = register_kprobe(&probe);

	if (error)
		return error;
	static_call_update(dt_lookup, (unsigned long (*)(const char *))probe.addr);
	unregister_kprobe(&probe);
	decoder = dt_kernel_symbol("insn_decode");
	if (decoder)
		static_call_update(dt_decoder, (int (*)(struct insn *, const void *, int,
							enum insn_mode))decoder);
	return 0;
}

void dt_symbols_end(void)
{
	kvfree(dt_list);
}

void dt_forbidden_changed(void)
{
	WRITE_ONCE(dt_is_current, false);
}

static void dt_name_of(unsigned long address, char *name)
{
	snprintf(name, DT_NAME_BYTES, "%ps", (void *)address);
	/* Cut off the module's name, which %ps appends after a space. */
	strreplace(name, ' ', 0);
}

/* Copies the kernel's kprobe blacklist. The caller holds kprobe_mutex. */
static int dt_copy_list(const struct list_head *head)
{
	const struct kprobe_blacklist_entry *entry;
	struct dt_forbidden *list;
	u32 n = 0;

	list_for_each_entry(entry, head, list)
		n++;
	list = kvmalloc_array(n + 1, sizeof(*list), GFP_KERNEL);
	if (!list)
		return -ENOMEM;
	n = 0;
	list_for_each_entry(entry, head, list) {
		list[n].start = entry->start_addr;
		list[n].end = entry->end_addr;
		dt_name_of(entry->start_addr, list[n].name);
		n++;
	}
	kvfree(dt_list);
	dt_list = list;
	dt_n_listed = n;
	return 0;
}

int dt_forbidden_read(void)
{
	struct list_head *head;
	struct mutex *lock;
	int error;

	if (READ_ONCE(dt_is_current))
		return 0;
	head = (struct list_head *)dt_kernel_symbol("kprobe_blacklist");
	lock = (struct mutex *)dt_kernel_symbol("kprobe_mutex");
	if (!head || !lock)
		return -EOPNOTSUPP;
	/*
	 * Set the flag before the copy, because a module that is loaded during
	 * the copy clears the flag.
	 */
	WRITE_ONCE(dt_is_current, true);
	mutex_lock(lock);
	error = dt_copy_list(head);
	mutex_unlock(lock);
	if (error)
		WRITE_ONCE(dt_is_current, false);
	return error;
}

bool dt_is_forbidden(unsigned long function)
{
	char name[DT_NAME_BYTES], *suffix;
	u32 i;

	for (i = 0; i < dt_n_listed; i++)
		if (function >= dt_list[i].start && function < dt_list[i].end)
			return true;
	dt_name_of(function, name);
	suffix = strchr(name, '.');
	if (!suffix)
		return false;
	*suffix = 0;
	for (i = 0; i < dt_n_listed; i++)
		if (!strcmp(name, dt_list[i].name))
			return true;
	return false;
}
