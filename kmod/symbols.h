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

/*
 * Returns the address of a kernel symbol, or 0 if it is not found. May sleep.
 */
unsigned long dt_kernel_symbol(const char *name);

struct insn;
/*
 * Calls the kernel's insn_decode() for 64-bit text. Returns 0 or a negative
 * errno, which is -EOPNOTSUPP if this kernel has no insn_decode().
 */
int dt_decode(struct insn *insn, const void *text, int bytes);

/*
 * Reads the kernel's list of functions that kprobes must not probe, if the list
 * may have changed since it was last read. Returns 0, -ENOMEM, or -EOPNOTSUPP
 * if the list is not found. The caller holds the lock under which
 * dt_is_forbidden() is called.
 */
int dt_forbidden_read(void);
/*
 * Makes the next dt_forbidden_read() read the list again. Called when a module
 * has been loaded or removed.
 */
void dt_forbidden_changed(void);
/*
 * Returns whether the function is on the list, or was split off from a function
 * on the list.
 */
bool dt_is_forbidden(unsigned long function);

#endif
