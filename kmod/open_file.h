/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * fds[n]: an open file of the current process. In any context: nothing here waits or takes a
 * lock.
 */
#ifndef KMOD_OPEN_FILE_H
#define KMOD_OPEN_FILE_H

#include <linux/types.h>

struct file;

/* What the current process has open as fd, not held: it may go meanwhile. NULL: nothing. */
struct file *dt_file_of(u32 fd);
/* Rows of DIF_VAR_FILES in dif/vars.h. Of what is not open numbers are 0, texts <none>. */
u64 dt_file_number(u32 fd, u32 id);
/* At most max bytes, without a NUL: how long. */
u64 dt_file_text(u32 fd, u32 id, char *to, u64 max);

#endif
