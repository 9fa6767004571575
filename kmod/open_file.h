/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * fds[n]: an open file of the current process. These functions run in any
 * context: they neither wait nor take a lock.
 */
#ifndef KMOD_OPEN_FILE_H
#define KMOD_OPEN_FILE_H

#include <linux/types.h>

struct file;

/*
 * Returns the file that the current process has open as fd, without a
 * reference: it may be freed at any time. NULL: fd is not open.
 */
struct file *dt_file_of(u32 fd);
/*
 * Rows of DIF_VAR_FILES in dif/vars.h. For a descriptor that is not open,
 * numbers are 0 and texts are <none>.
 */
u64 dt_file_number(u32 fd, u32 id);
/* Writes at most max bytes, without a NUL. Returns their number. */
u64 dt_file_text(u32 fd, u32 id, char *to, u64 max);

#endif
