/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Reads data about the current process for D's variables. All functions except
 * dt_grab_mm() run in any context, and do not wait or take locks.
 */
#ifndef KMOD_PROCESS_H
#define KMOD_PROCESS_H

#include <linux/pid.h>
#include <linux/types.h>

u64 dt_parent_pid(void);
u64 dt_group_of(enum pid_type type);
/*
 * Write at most max bytes of text, without a NUL. Return the number of bytes
 * written, which is 0 if the text cannot be read.
 */
u64 dt_arguments(char *to, u64 max);
u64 dt_working_folder(char *to, u64 max);
u64 dt_root_folder(char *to, u64 max);
struct path;
struct dentry;
/* Writes the path of a file, starting at the process's root. */
u64 dt_path_text(const struct path *path, char *to, u64 max);
u64 dt_name_of(const struct dentry *dentry, char *to, u64 max);
/* Returns whether pid is the current process or one of its ancestors. */
int dt_descends_from(u64 pid);
/*
 * Reads uregs[index]. Returns 0, or -1 if there is no such register or the task
 * is a kernel thread.
 */
int dt_user_register(u32 index, u64 *value);
/* Return the segment bases that the current process uses. */
u64 dt_user_fs_base(void);
u64 dt_user_gs_base(void);
struct mm_struct;
/*
 * Finds the process with this number in the caller's PID namespace. Returns 0,
 * or -ESRCH if the process does not exist or has no memory. *pid is set in both
 * cases; the caller releases it with put_pid(). On success, *mm is also set;
 * the caller releases it with mmdrop().
 */
int dt_grab_mm(s32 number, struct pid **pid, struct mm_struct **mm);
/*
 * Sends a signal to the current process. The process receives the signal when
 * it returns to user space.
 */
int dt_signal_soon(int sig);

#endif
