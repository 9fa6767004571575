/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What differs between the kernels that this is built for, 6.1 to 6.12.
 */
#ifndef KMOD_COMPAT_H
#define KMOD_COMPAT_H

#include <linux/ftrace.h>
#include <linux/mm.h>
#include <linux/version.h>

/* The registers at a function's entry: arguments, stack pointer and frame pointer. */
static inline struct pt_regs *dt_entry_regs(struct ftrace_regs *fregs)
{
#ifdef arch_ftrace_regs
	return &arch_ftrace_regs(fregs)->regs;
#else
	return &fregs->regs;
#endif
}

/* The mapping can not be made writable later either. */
static inline void dt_forbid_writing(struct vm_area_struct *vma)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	vm_flags_clear(vma, VM_MAYWRITE);
#else
	vma->vm_flags &= ~VM_MAYWRITE;
#endif
}

#endif
