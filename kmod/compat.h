/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Differences between the supported kernels, 6.1 to 6.12. */
#ifndef KMOD_COMPAT_H
#define KMOD_COMPAT_H

#include <linux/ftrace.h>
#include <linux/mm.h>
#include <linux/uprobes.h>
#include <linux/version.h>

/*
 * Returns the registers at the entry of a function. Only sp, bp and the
 * registers that contain arguments are valid.
 */
static inline struct pt_regs *dt_entry_regs(struct ftrace_regs *fregs)
{
#ifdef arch_ftrace_regs
	return &arch_ftrace_regs(fregs)->regs;
#else
	return &fregs->regs;
#endif
}

/* Prevents the mapping from being made writable later. */
static inline void dt_forbid_writing(struct vm_area_struct *vma)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	vm_flags_clear(vma, VM_MAYWRITE);
#else
	vma->vm_flags &= ~VM_MAYWRITE;
#endif
}

/* Prevents the mapping from growing, and excludes it from core dumps. */
static inline void dt_mapping_is_fixed(struct vm_area_struct *vma)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	vm_flags_set(vma, VM_DONTEXPAND | VM_DONTDUMP);
#else
	vma->vm_flags |= VM_DONTEXPAND | VM_DONTDUMP;
#endif
}

/* The parameters of a uprobe_consumer's filter. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
#define DT_UPROBE_FILTER_PARAMETERS struct uprobe_consumer *uc, struct mm_struct *mm
#else
#define DT_UPROBE_FILTER_PARAMETERS                                                    \
	struct uprobe_consumer *uc, enum uprobe_filter_ctx ctx, struct mm_struct *mm
#endif

/*
 * Attaches a uprobe_consumer. *made receives the handle for
 * dt_uprobe_take_off(). After the last dt_uprobe_take_off(), the caller must
 * call dt_uprobes_are_off(), which waits until no handler runs.
 */
static inline int dt_uprobe_put_on(struct inode *inode, loff_t offset, loff_t semaphore,
				   struct uprobe_consumer *uc, struct uprobe **made)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
	*made = uprobe_register(inode, offset, semaphore, uc);
	return PTR_ERR_OR_ZERO(*made);
#else
	return uprobe_register_refctr(inode, offset, semaphore, uc);
#endif
}

static inline void dt_uprobe_take_off(struct inode *inode, loff_t offset,
				      struct uprobe_consumer *uc, struct uprobe *made)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
	uprobe_unregister_nosync(made, uc);
#else
	uprobe_unregister(inode, offset, uc);
#endif
}

static inline void dt_uprobes_are_off(void)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
	uprobe_unregister_sync();
#endif
}

#endif
