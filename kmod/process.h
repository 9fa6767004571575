/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What D asks about the current process. In any context: nothing here waits or takes a
 * lock, but for dt_grab_mm().
 */
#ifndef KMOD_PROCESS_H
#define KMOD_PROCESS_H

#include <linux/pid.h>
#include <linux/types.h>

u64 dt_parent_pid(void);
u64 dt_group_of(enum pid_type type);
/* Texts of at most max bytes, without a NUL: how long. */
u64 dt_arguments(char *to, u64 max);
u64 dt_working_folder(char *to, u64 max);
u64 dt_root_folder(char *to, u64 max);
struct path;
struct dentry;
/* Of a file, from the process' root on. */
u64 dt_path_text(const struct path *path, char *to, u64 max);
u64 dt_name_of(const struct dentry *dentry, char *to, u64 max);
/* Is it the current process or one of its ancestors? */
int dt_descends_from(u64 pid);
/* uregs[index]: 0, or -1: no such register, or a thread of the kernel. */
int dt_user_register(u32 index, u64 *value);
/* Segment bases of the current process' code. */
u64 dt_user_fs_base(void);
u64 dt_user_gs_base(void);
struct mm_struct;
/*
 * The memory of the process that the caller knows by this number, for mmdrop(), and its pid,
 * for put_pid(); -ESRCH: it has none (any more).
 */
int dt_grab_mm(s32 number, struct pid **pid, struct mm_struct **mm);
/* The current process gets it when it returns to user space. */
int dt_signal_soon(int sig);

#endif
