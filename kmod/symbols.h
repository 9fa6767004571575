/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Kernel symbols that are not exported to modules, and the functions that must
 * not be probed.
 */
#ifndef KMOD_SYMBOLS_H
#define KMOD_SYMBOLS_H

#include <linux/types.h>

int dt_symbols_begin(void);
void dt_symbols_end(void);

/* Returns the address of a symbol, or 0. May wait. */
unsigned long dt_kernel_symbol(const char *name);

struct insn;
/*
 * Calls the kernel's insn_decode() for 64-bit text. -EOPNOTSUPP: the kernel has
 * none.
 */
int dt_decode(struct insn *insn, const void *text, int bytes);

/*
 * Reads the kernel's list of functions that kprobes must not probe, if it may
 * have changed. Returns -EOPNOTSUPP if the kernel has no such list at the
 * expected place. The caller holds the lock under which dt_is_forbidden() is
 * called.
 */
int dt_forbidden_read(void);
/*
 * Records that the list may have changed, because a module was loaded or
 * removed.
 */
void dt_forbidden_changed(void);
/*
 * Returns whether the function at this address is on the list, or was split off
 * from a function that is.
 */
bool dt_is_forbidden(unsigned long function);

#endif
