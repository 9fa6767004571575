// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Reads the members of fds[n] from the current process's table of files.
 *
 * The table and the files may change or be freed at the same time. So they are
 * copied, and the code follows only pointers in the copies. A copy may fail or
 * show an old state.
 */
#include "kmod/open_file.h"

#include "dif/vars.h"
#include "kmod/process.h"

#include <linux/fdtable.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/mount.h>
#include <linux/sched.h>
#include <linux/uaccess.h>

struct dt_open_file {
	struct path path;
	loff_t pos;
	unsigned int flags;
	unsigned long inode;
	unsigned long magic; /* magic number of the file's file system */
	char type[32];
};

#define dt_peek(to, from) copy_from_kernel_nofault(to, from, sizeof(*(to)))

static int dt_look_at(struct file *file, struct dt_open_file *f)
{
	struct inode *inode;
	struct super_block *sb;
	struct file_system_type *type;
	const char *name;

	if (dt_peek(&f->path, &file->f_path) || dt_peek(&f->pos, &file->f_pos) ||
	    dt_peek(&f->flags, &file->f_flags) || dt_peek(&inode, &file->f_inode) ||
	    dt_peek(&f->inode, &inode->i_ino) || dt_peek(&sb, &inode->i_sb) ||
	    dt_peek(&f->magic, &sb->s_magic) || dt_peek(&type, &sb->s_type) ||
	    dt_peek(&name, &type->name))
		return -1;
	f->type[sizeof(f->type) - 1] = 0;
	return copy_from_kernel_nofault(f->type, name, sizeof(f->type) - 1) ? -1 : 0;
}

struct file *dt_file_of(u32 fd)
{
	struct files_struct *files = current->files;
	struct fdtable *table;
	struct file **all, *file;
	unsigned int n;

	if (!files || dt_peek(&table, &files->fdt) || dt_peek(&n, &table->max_fds) || fd >= n ||
	    dt_peek(&all, &table->fd) || dt_peek(&file, &all[fd]))
		return NULL;
	return file;
}

static int dt_find_file(u32 fd, struct dt_open_file *f)
{
	struct file *file = dt_file_of(fd);

	return file ? dt_look_at(file, f) : -1;
}

u64 dt_file_number(u32 fd, u32 id)
{
	struct dt_open_file f;

	if (dt_find_file(fd, &f))
		return 0;
	/* fcntl(F_GETFL) returns the same flags. */
	return id == DIF_VAR_fi_offset ? (u64)f.pos : f.flags & ~__FMODE_NONOTIFY;
}

static u64 dt_text(const char *text, char *to, u64 max)
{
	u64 n = min_t(u64, strlen(text), max);

	memcpy(to, text, n);
	return n;
}

/*
 * Writes the name of a file on a file system without a mount point, such as
 * "pipe:[123]". Returns its length, or 0 for other files.
 */
static u64 dt_unmounted_name(const struct dt_open_file *f, char *to, u64 max)
{
	char text[64], name[32] = "";
	const char *kind = f->magic == PIPEFS_MAGIC ? "pipe"
			   : f->magic == SOCKFS_MAGIC ? "socket"
						      : NULL;

	if (kind) {
		snprintf(text, sizeof(text), "%s:[%lu]", kind, f->inode);
		return dt_text(text, to, max);
	}
	if (f->magic != ANON_INODE_FS_MAGIC)
		return 0;
	dt_name_of(f->path.dentry, name, sizeof(name) - 1);
	snprintf(text, sizeof(text), "anon_inode:%s", name);
	return dt_text(text, to, max);
}

static u64 dt_mount_text(const struct dt_open_file *f, char *to, u64 max)
{
	struct path root = {.mnt = f->path.mnt};

	if (dt_peek(&root.dentry, &f->path.mnt->mnt_root))
		return dt_text("<unknown>", to, max);
	return dt_path_text(&root, to, max);
}

u64 dt_file_text(u32 fd, u32 id, char *to, u64 max)
{
	struct dt_open_file f;
	u64 n, slash;

	if (dt_find_file(fd, &f))
		return dt_text("<none>", to, max);
	if (id == DIF_VAR_fi_fs)
		return dt_text(f.magic == ANON_INODE_FS_MAGIC ? "anon_inodefs" : f.type, to, max);
	n = dt_unmounted_name(&f, to, max);
	if (n)
		return id == DIF_VAR_fi_name || id == DIF_VAR_fi_pathname
			   ? n
			   : dt_text("<none>", to, max);
	if (id == DIF_VAR_fi_mount)
		return dt_mount_text(&f, to, max);
	n = dt_path_text(&f.path, to, max);
	if (id == DIF_VAR_fi_pathname || !n)
		return n;
	for (slash = n; slash && to[slash - 1] != '/'; slash--)
		;
	if (id == DIF_VAR_fi_dirname)
		return slash > 1 ? slash - 1 : slash;
	if (n == 1)
		return n; /* "/", the root directory */
	memmove(to, to + slash, n - slash);
	return n - slash;
}
