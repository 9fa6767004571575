/* SPDX-License-Identifier: MIT */
/*
 * The io provider. The arguments of a probe describe a buffer, a device and a file. All
 * three are translated from one struct bio. The file is found through the first page of
 * the bio. The file is shown as <none> for direct I/O and as <unknown> for metadata.
 *
 * A path consists of the mount point of a file system and of the path in this file
 * system. If there are several mount points, the first one is used. fi_offset is an
 * offset on the device.
 */
#pragma D attributes Evolving/Evolving/ISA translator

inline int B_BUSY = 0x1;
inline int B_DONE = 0x2;
inline int B_ERROR = 0x4;
inline int B_PAGEIO = 0x10;
inline int B_PHYS = 0x20;
inline int B_READ = 0x40;
inline int B_WRITE = 0x100;
inline int B_ASYNC = 0x400;

typedef struct bufinfo {
	int b_flags;
	size_t b_bcount;
	caddr_t b_addr;
	uint64_t b_lblkno;
	uint64_t b_blkno;
	size_t b_resid;
	size_t b_bufsize;
	caddr_t b_iodone;
	int b_error;
	vmlinux`dev_t b_edev;
} bufinfo_t;

typedef struct devinfo {
	int dev_major;
	int dev_minor;
	int dev_instance;
	string dev_name;
	string dev_statname;
	string dev_pathname;
} devinfo_t;

/*
 * Operations with odd numbers are writes. A bio without a device represents a wait for
 * an unknown buffer.
 */
translator bufinfo_t < struct bio *b > {
	b_flags = b->bi_bdev == NULL ? 0 : (b->bi_opf & 1 ? B_WRITE : B_READ) | (b->bi_status ? B_ERROR : 0) |
	    (b->bi_opf & 1 << __REQ_SYNC ? 0 : B_ASYNC);
	b_bcount = b->bi_iter.bi_size;
	b_addr = b->bi_io_vec == NULL || b->bi_iter.bi_size == 0 ? (caddr_t)NULL :
	    (caddr_t)(((uintptr_t)b->bi_io_vec->bv_page - *(uintptr_t *)&`vmemmap_base) /
	    sizeof (struct page) * 4096 + *(uintptr_t *)&`page_offset_base + b->bi_io_vec->bv_offset);
	b_lblkno = b->bi_iter.bi_sector;
	b_blkno = b->bi_iter.bi_sector;
	b_resid = b->bi_status ? b->bi_iter.bi_size : 0;
	b_bufsize = b->bi_iter.bi_size;
	b_iodone = (caddr_t)b->bi_end_io;
	b_error = b->bi_status ? EIO : 0;
	b_edev = b->bi_bdev == NULL ? (vmlinux`dev_t)-1 : b->bi_bdev->bd_dev;
};

translator devinfo_t < struct bio *b > {
	dev_major = b->bi_bdev == NULL ? -1 : (int)(b->bi_bdev->bd_dev >> 20);
	dev_minor = b->bi_bdev == NULL ? -1 : (int)(b->bi_bdev->bd_dev & 0xfffff);
	dev_instance = b->bi_bdev == NULL ? -1 : (int)(b->bi_bdev->bd_dev & 0xfffff);
	dev_name = b->bi_bdev == NULL ? "<none>" : b->bi_bdev->bd_disk->fops->owner ?
	    stringof(b->bi_bdev->bd_disk->fops->owner->name) : stringof(b->bi_bdev->bd_disk->disk_name);
	dev_statname = b->bi_bdev == NULL ? "<none>" : stringof(b->bi_bdev->bd_device.kobj.name);
	dev_pathname = b->bi_bdev == NULL ? "<none>" : strjoin("/dev/", stringof(b->bi_bdev->bd_device.kobj.name));
};

/* The mapping of a compound page is in its first page. */
inline struct page *io_page[struct bio *b] =
    b->bi_io_vec->bv_page->compound_head & 1 ?
    (struct page *)(b->bi_io_vec->bv_page->compound_head - 1) : b->bi_io_vec->bv_page;
/* A value with one of its lowest two bits set is not the mapping of a file. */
inline uintptr_t io_mapping[struct bio *b] =
    b->bi_io_vec == NULL || b->bi_iter.bi_size == 0 ? 0 : (uintptr_t)io_page[b]->mapping;
inline struct inode *io_inode[uintptr_t mapping] =
    mapping == 0 || mapping & 3 ? (struct inode *)NULL : ((struct address_space *)mapping)->host;
inline uintptr_t io_alias[struct inode *i] = i == NULL ? 0 : (uintptr_t)i->i_dentry.first;
/* Returns NULL if the file has no name. */
inline struct dentry *io_dentry[uintptr_t alias] =
    alias == 0 ? (struct dentry *)NULL : (struct dentry *)(alias - offsetof(struct dentry, d_u));
inline struct dentry *io_file[struct bio *b] = io_dentry[io_alias[io_inode[io_mapping[b]]]];

/*
 * The path of a dentry in its file system, or "" for the root of the file system. If
 * the path has more than eight components, "..." replaces all but the last eight.
 */
inline string io_path0[struct dentry *d] = d->d_parent == d ? "" : "...";
inline string io_path1[struct dentry *d] = d->d_parent == d ? "" :
    strjoin(io_path0[d->d_parent], strjoin("/", stringof(d->d_name.name)));
inline string io_path2[struct dentry *d] = d->d_parent == d ? "" :
    strjoin(io_path1[d->d_parent], strjoin("/", stringof(d->d_name.name)));
inline string io_path3[struct dentry *d] = d->d_parent == d ? "" :
    strjoin(io_path2[d->d_parent], strjoin("/", stringof(d->d_name.name)));
inline string io_path4[struct dentry *d] = d->d_parent == d ? "" :
    strjoin(io_path3[d->d_parent], strjoin("/", stringof(d->d_name.name)));
inline string io_path5[struct dentry *d] = d->d_parent == d ? "" :
    strjoin(io_path4[d->d_parent], strjoin("/", stringof(d->d_name.name)));
inline string io_path6[struct dentry *d] = d->d_parent == d ? "" :
    strjoin(io_path5[d->d_parent], strjoin("/", stringof(d->d_name.name)));
inline string io_path7[struct dentry *d] = d->d_parent == d ? "" :
    strjoin(io_path6[d->d_parent], strjoin("/", stringof(d->d_name.name)));
inline string io_path8[struct dentry *d] = d->d_parent == d ? "" :
    strjoin(io_path7[d->d_parent], strjoin("/", stringof(d->d_name.name)));

/* The first mount of the dentry's file system. The root mount is its own parent. */
inline struct mount *io_mount[struct dentry *d] =
    (struct mount *)((uintptr_t)d->d_sb->s_mounts.next - offsetof(struct mount, mnt_instance));
inline string io_mountpoint[struct dentry *d] = io_mount[d]->mnt_parent == io_mount[d] ? "" :
    io_path2[io_mount[d]->mnt_mountpoint];

inline string io_fileinfo_none[struct bio *b] =
    io_mapping[b] == 0 || io_mapping[b] & 3 ? "<none>" : "<unknown>";

/* An inline evaluates its argument at each use of the parameter, so the dentry is kept in a variable. */
this struct dentry *io_dentry_here;

translator fileinfo_t < struct bio *b > {
	fi_name = (this->io_dentry_here = io_file[b]) == NULL || this->io_dentry_here->d_name.len == 0 ?
	    io_fileinfo_none[b] :
	    stringof(this->io_dentry_here->d_name.name);
	fi_dirname = (this->io_dentry_here = io_file[b]) == NULL || this->io_dentry_here->d_name.len == 0 ?
	    io_fileinfo_none[b] :
	    strjoin(io_mountpoint[this->io_dentry_here], io_path8[this->io_dentry_here->d_parent]);
	fi_pathname = (this->io_dentry_here = io_file[b]) == NULL || this->io_dentry_here->d_name.len == 0 ?
	    io_fileinfo_none[b] :
	    strjoin(io_mountpoint[this->io_dentry_here], io_path8[this->io_dentry_here]);
	fi_mount = (this->io_dentry_here = io_file[b]) == NULL || this->io_dentry_here->d_name.len == 0 ?
	    io_fileinfo_none[b] :
	    strjoin(io_mountpoint[this->io_dentry_here], "");
	fi_offset = b->bi_iter.bi_sector * 512;
	fi_fs = io_inode[io_mapping[b]] == NULL ? "<none>" :
	    stringof(io_inode[io_mapping[b]]->i_sb->s_type->name);
	fi_oflags = 0;
};

provider io {
	probe done(struct bio *buf, struct bio *dev, struct bio *file) :
	    (bufinfo_t *buf, devinfo_t *dev, fileinfo_t *file);
	probe start(struct bio *buf, struct bio *dev, struct bio *file) :
	    (bufinfo_t *buf, devinfo_t *dev, fileinfo_t *file);
	probe wait-done(struct bio *buf, struct bio *dev, struct bio *file) :
	    (bufinfo_t *buf, devinfo_t *dev, fileinfo_t *file);
	probe wait-start(struct bio *buf, struct bio *dev, struct bio *file) :
	    (bufinfo_t *buf, devinfo_t *dev, fileinfo_t *file);
};
