// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Loads pages of the current process that a uprobe's D program reads and that
 * are not in memory.
 *
 * While the thread waits for a page, the uprobe cannot be removed and the
 * consumer cannot end. So a page is faulted in only if no process can delay it:
 *
 *   - Pages of anonymous memory, and of files in memory or on a block device,
 *     are faulted in.
 *   - Pages that a process (FUSE, userfaultfd) or another machine (NFS)
 *     provides are treated as invalid addresses until the target has accessed
 *     them.
 *
 * dt_bring_in() holds mmap_lock from the check of a mapping until the page is
 * in memory. Otherwise another thread could replace the mapping.
 */
#include "kmod/consumer.h"

#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/userfaultfd_k.h>

#define DT_TRIES 16

static bool dt_comes_by_itself(const struct vm_area_struct *vma)
{
	const struct super_block *sb;

	if (userfaultfd_armed((struct vm_area_struct *)vma) ||
	    vma->vm_flags & (VM_IO | VM_PFNMAP | VM_MIXEDMAP))
		return false;
	if (!vma->vm_file)
		return !vma->vm_ops;
	sb = file_inode(vma->vm_file)->i_sb;
	if (sb->s_magic == FUSE_SUPER_MAGIC)
		return false;
	return sb->s_type->fs_flags & FS_REQUIRES_DEV || sb->s_magic == TMPFS_MAGIC ||
	       sb->s_magic == RAMFS_MAGIC;
}

/*
 * Tries to take mmap_lock once per tick, for at most DT_TRIES ticks. Stops
 * early if the thread receives a fatal signal. Returns whether the lock was
 * taken.
 */
static bool dt_lock_mappings(struct mm_struct *mm)
{
	int i;

	for (i = 0; i < DT_TRIES; i++) {
		if (mmap_read_trylock(mm))
			return true;
		if (fatal_signal_pending(current))
			return false;
		schedule_timeout_uninterruptible(1);
	}
	return false;
}

bool dt_bring_in(unsigned long addr, unsigned long bytes)
{
	struct mm_struct *mm = current->mm;
	unsigned long at = addr & PAGE_MASK;
	const struct vm_area_struct *vma;
	bool there = true;

	if (!mm || !bytes || addr + bytes < addr || !dt_lock_mappings(mm))
		return false;
	for (; there && at < addr + bytes; at += PAGE_SIZE) {
		vma = find_vma(mm, at);
		there = vma && vma->vm_start <= at && dt_comes_by_itself(vma) &&
			!fixup_user_fault(mm, at, 0, NULL);
	}
	mmap_read_unlock(mm);
	return there;
}
