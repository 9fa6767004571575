/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Reads the open files of the current process for fds[n]. These functions run
 * in any context. They do not wait or take locks.
 */
#ifndef KMOD_OPEN_FILE_H
#define KMOD_OPEN_FILE_H

#include <linux/types.h>

struct file;

/*
 * Returns the file that the current process has open as fd, or NULL. The file
 * may be freed at any time, because no reference is taken.
 */
struct file *dt_file_of(u32 fd);
/*
 * Returns the value of fi_offset or fi_oflags for fds[fd]. `id` is the member's
 * number in DIF_VAR_FILES (dif/vars.h). Returns 0 if fd is not open.
 */
u64 dt_file_number(u32 fd, u32 id);
/*
 * Writes the value of a string member of fds[fd], at most max bytes without a
 * NUL. Returns the number of bytes written. The text is <none> if fd is not
 * open.
 */
u64 dt_file_text(u32 fd, u32 id, char *to, u64 max);

#endif
