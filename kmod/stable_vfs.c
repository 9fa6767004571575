// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Implements the vfs probes, which are those of FreeBSD's file system layer.
 * They fire in the corresponding Linux functions. An inode takes the place of
 * the vnode. The file, dentry or name takes the place of FreeBSD's structure of
 * arguments.
 *
 * When a function returns, the objects to which its arguments point may have
 * been freed. Therefore all objects are read as memory that may be invalid.
 */
#include "kmod/open_file.h"
#include "abi/stable.h"

#include <linux/dcache.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/path.h>
#include <linux/uaccess.h>

/*
 * Reads a member of the object at the address `at` as a number. The value is 0
 * if the memory cannot be read.
 */
#define DT_MEMBER(at, type, member)                                                    \
	({                                                                             \
		u64 dt_value = 0;                                                      \
		static_assert(sizeof(((type *)0)->member) <= sizeof(dt_value));        \
		if (!(at) || copy_from_kernel_nofault(&dt_value,                       \
						      &((type *)(at))->member,         \
						      sizeof(((type *)0)->member)))    \
			dt_value = 0;                                                  \
		dt_value;                                                              \
	})

static u64 dt_of_dentry(u64 dentry)
{
	return DT_MEMBER(dentry, struct dentry, d_inode);
}

static u64 dt_folder_of(u64 dentry)
{
	return dt_of_dentry(DT_MEMBER(dentry, struct dentry, d_parent));
}

static u64 dt_of_path(u64 path)
{
	return dt_of_dentry(DT_MEMBER(path, struct path, dentry));
}

static u64 dt_of_file(u64 file)
{
	return DT_MEMBER(file, struct file, f_inode);
}

/*
 * Stores the arguments of an entry probe: the inode in place of the vnode, and
 * the file, dentry or name. Returns the number of arguments.
 */
static int dt_vop(u64 vnode, u64 what, u64 *out)
{
	out[0] = vnode;
	out[1] = what;
	return 2;
}

/*
 * Stores the arguments of a return probe: those of the entry probe, and errno.
 * Returns the number of arguments.
 */
static int dt_vop_done(u64 vnode, u64 what, s64 result, u64 *out)
{
	out[2] = result < 0 && result >= -MAX_ERRNO ? -result : 0;
	return dt_vop(vnode, what, out) + 1;
}

/*
 * @in: arguments of vfs_read(file, ...) or of another function whose first
 * argument is a file
 */
int dt_choose_vop_file(const u64 *in, u64 *out)
{
	return dt_vop(dt_of_file(in[0]), in[0], out);
}

int dt_choose_vop_file_long(const u64 *in, u64 *out)
{
	return dt_vop_done(dt_of_file(in[1]), in[1], (s64)in[0], out);
}

int dt_choose_vop_file_int(const u64 *in, u64 *out)
{
	return dt_vop_done(dt_of_file(in[1]), in[1], (s32)in[0], out);
}

static bool dt_is_open(u64 file)
{
	return DT_MEMBER(file, struct file, f_mode) & FMODE_OPENED;
}

/*
 * @in: arguments of __fput(file), which the kernel calls at the last close.
 * __fput() has no result, so the return probe's errno is always 0.
 */
int dt_choose_vop_close(const u64 *in, u64 *out)
{
	return dt_is_open(in[0]) ? dt_choose_vop_file(in, out) : -1;
}

int dt_choose_vop_closed(const u64 *in, u64 *out)
{
	return dt_is_open(in[1]) ? dt_vop_done(dt_of_file(in[1]), in[1], 0, out) : -1;
}

/*
 * Returns the file of an ioctl(). @registers is the argument of
 * __x64_sys_ioctl(), into which vfs_ioctl() is inlined.
 */
static u64 dt_file_of_call(u64 registers)
{
	return (u64)dt_file_of(DT_MEMBER(registers, struct pt_regs, di));
}

int dt_choose_vop_ioctl(const u64 *in, u64 *out)
{
	u64 file = dt_file_of_call(in[0]);

	return file ? dt_vop(dt_of_file(file), file, out) : -1;
}

int dt_choose_vop_ioctl_long(const u64 *in, u64 *out)
{
	u64 file = dt_file_of_call(in[1]);

	return file ? dt_vop_done(dt_of_file(file), file, (s64)in[0], out) : -1;
}

/* @in: arguments of vfs_open(path, file) or vfs_getattr(path, ...) */
int dt_choose_vop_path(const u64 *in, u64 *out)
{
	return dt_vop(dt_of_path(in[0]), DT_MEMBER(in[0], struct path, dentry), out);
}

int dt_choose_vop_path_int(const u64 *in, u64 *out)
{
	return dt_vop_done(dt_of_path(in[1]), DT_MEMBER(in[1], struct path, dentry), (s32)in[0],
			   out);
}

/*
 * @in: arguments of vfs_mkdir(idmap of the mount, directory, dentry, ...) or
 * another function that changes a directory
 */
int dt_choose_vop_folder(const u64 *in, u64 *out)
{
	return dt_vop(in[1], in[2], out);
}

int dt_choose_vop_folder_int(const u64 *in, u64 *out)
{
	return dt_vop_done(in[2], in[3], (s32)in[0], out);
}

/*
 * Called for vfs_open(path, file), because no single kernel function creates
 * all files. If open() has just created the file, stores the arguments of
 * vop_create and returns their number. Otherwise returns -1.
 */
static int dt_opened_new(u64 path, u64 file, u64 *out)
{
	u64 dentry = DT_MEMBER(path, struct path, dentry);

	if (!(DT_MEMBER(file, struct file, f_mode) & FMODE_CREATED))
		return -1;
	return dt_vop(dt_folder_of(dentry), dentry, out);
}

int dt_choose_vop_opened_new(const u64 *in, u64 *out)
{
	return dt_opened_new(in[0], in[1], out);
}

int dt_choose_vop_opened_new_int(const u64 *in, u64 *out)
{
	int n = dt_opened_new(in[1], in[2], out);

	out[2] = 0; /* errno; the file was created, even if opening it failed */
	return n < 0 ? n : n + 1;
}

/*
 * @in: arguments of vfs_link(old dentry, idmap of the mount, directory, new
 * dentry, ...)
 */
int dt_choose_vop_link(const u64 *in, u64 *out)
{
	return dt_vop(in[2], in[3], out);
}

int dt_choose_vop_link_int(const u64 *in, u64 *out)
{
	return dt_vop_done(in[3], in[4], (s32)in[0], out);
}

/* @in: arguments of vfs_rename(renamedata) */
int dt_choose_vop_rename(const u64 *in, u64 *out)
{
	return dt_vop(DT_MEMBER(in[0], struct renamedata, old_dir),
		      DT_MEMBER(in[0], struct renamedata, old_dentry), out);
}

int dt_choose_vop_rename_int(const u64 *in, u64 *out)
{
	return dt_vop_done(DT_MEMBER(in[1], struct renamedata, old_dir),
			   DT_MEMBER(in[1], struct renamedata, old_dentry), (s32)in[0], out);
}

/* @in: arguments of notify_change(idmap of the mount, dentry, ...) */
int dt_choose_vop_setattr(const u64 *in, u64 *out)
{
	return dt_vop(dt_of_dentry(in[1]), in[1], out);
}

int dt_choose_vop_setattr_int(const u64 *in, u64 *out)
{
	return dt_vop_done(dt_of_dentry(in[2]), in[2], (s32)in[0], out);
}

/* @in: arguments of vfs_readlink(dentry, ...) */
int dt_choose_vop_dentry(const u64 *in, u64 *out)
{
	return dt_vop(dt_of_dentry(in[0]), in[0], out);
}

int dt_choose_vop_dentry_int(const u64 *in, u64 *out)
{
	return dt_vop_done(dt_of_dentry(in[1]), in[1], (s32)in[0], out);
}

/*
 * @in: arguments of __lookup_slow(name, directory's dentry, flags). The name is
 * a struct qstr.
 */
int dt_choose_vop_lookup(const u64 *in, u64 *out)
{
	return dt_vop(dt_of_dentry(in[1]), in[0], out);
}

int dt_choose_vop_lookup_dentry(const u64 *in, u64 *out)
{
	return dt_vop_done(dt_of_dentry(in[2]), in[1], (s64)in[0], out);
}

/* @in: arguments of evict(inode) */
int dt_choose_vop_reclaim(const u64 *in, u64 *out)
{
	return dt_vop(in[0], 0, out);
}

int dt_choose_vop_reclaim_done(const u64 *in, u64 *out)
{
	return dt_vop_done(in[1], 0, 0, out);
}

/*
 * @in: arguments of filename_lookup(directory's fd, name, flags, path, ...) or
 * __filename_parentat()
 */
int dt_choose_namei_lookup(const u64 *in, u64 *out)
{
	out[0] = 0; /* the starting directory, which is not known yet */
	out[1] = IS_ERR((void *)in[1]) ? 0 : DT_MEMBER(in[1], struct filename, name);
	out[2] = (u32)in[2];
	return 3;
}

/* @in: arguments of do_filp_open(directory's fd, name, flags) */
int dt_choose_namei_open(const u64 *in, u64 *out)
{
	dt_choose_namei_lookup(in, out);
	out[2] = 0;
	return 3;
}

static int dt_namei_done(s64 result, u64 vnode, u64 *out)
{
	out[0] = result < 0 ? -result : 0;
	out[1] = result < 0 ? 0 : vnode;
	return 2;
}

int dt_choose_namei_done(const u64 *in, u64 *out)
{
	return dt_namei_done((s32)in[0], dt_of_path(in[4]), out);
}

int dt_choose_namei_opened(const u64 *in, u64 *out)
{
	bool failed = IS_ERR((void *)in[0]);

	return dt_namei_done(failed ? (s64)in[0] : 0, failed ? 0 : dt_of_file(in[0]), out);
}

/*
 * Stores the arguments of a name cache probe: directory, name, vnode. Returns
 * the number of arguments.
 */
static int dt_name(u64 folder, u64 dentry, u64 vnode, u64 *out)
{
	out[0] = folder;
	out[1] = DT_MEMBER(dentry, struct dentry, d_name.name);
	out[2] = vnode;
	return 3;
}

/*
 * @in: result and arguments of __d_lookup(directory's dentry, name) or
 * __d_lookup_rcu(). The result is the dentry that was found, or null.
 */
static int dt_looked_up(const u64 *in, u64 *out)
{
	out[0] = dt_of_dentry(in[1]);
	out[1] = DT_MEMBER(in[2], struct qstr, name);
	out[2] = dt_of_dentry(in[0]);
	return 3;
}

int dt_choose_namecache_hit(const u64 *in, u64 *out)
{
	return in[0] && dt_of_dentry(in[0]) ? dt_looked_up(in, out) : -1;
}

int dt_choose_namecache_negative(const u64 *in, u64 *out)
{
	return in[0] && !dt_of_dentry(in[0]) ? dt_looked_up(in, out) - 1 : -1;
}

int dt_choose_namecache_miss(const u64 *in, u64 *out)
{
	return in[0] ? -1 : dt_looked_up(in, out) - 1;
}

/* @in: arguments of d_add(dentry, inode or null) or d_instantiate() */
int dt_choose_namecache_enter(const u64 *in, u64 *out)
{
	return in[1] ? dt_name(dt_folder_of(in[0]), in[0], in[1], out) : -1;
}

int dt_choose_namecache_enter_negative(const u64 *in, u64 *out)
{
	return in[1] ? -1 : dt_name(dt_folder_of(in[0]), in[0], 0, out) - 1;
}

/*
 * @in: arguments of d_splice_alias(inode, dentry). The inode may be null or an
 * error.
 */
int dt_choose_namecache_splice(const u64 *in, u64 *out)
{
	return IS_ERR_OR_NULL((void *)in[0]) ?
		       -1 :
		       dt_name(dt_folder_of(in[1]), in[1], in[0], out);
}

int dt_choose_namecache_splice_negative(const u64 *in, u64 *out)
{
	return in[0] ? -1 : dt_name(dt_folder_of(in[1]), in[1], 0, out) - 1;
}

/* @in: arguments of d_invalidate(dentry) */
int dt_choose_namecache_purge(const u64 *in, u64 *out)
{
	out[0] = dt_of_dentry(in[0]);
	return 1;
}

/* @in: arguments of __d_drop(dentry) */
int dt_choose_namecache_zap(const u64 *in, u64 *out)
{
	u64 vnode = dt_of_dentry(in[0]);

	return vnode ? dt_name(vnode, in[0], 0, out) - 1 : -1;
}

int dt_choose_namecache_zap_negative(const u64 *in, u64 *out)
{
	return dt_of_dentry(in[0]) ? -1 : dt_name(dt_folder_of(in[0]), in[0], 0, out) - 1;
}
