/* SPDX-License-Identifier: MIT */
/*
 * The vfs provider. A vnode is an inode. For an operation that changes a directory, the
 * vnode is the directory's inode. vop_read-entry means the probe vfs:vop:vop_read:entry.
 */
provider vfs {
	probe enter-done(struct inode *folder, char *name, struct inode *vnode);
	probe enter_negative-done(struct inode *folder, char *name);
	probe lookup-entry(struct inode *folder, char *path, uint64_t flags);
	probe lookup-hit(struct inode *folder, char *name, struct inode *vnode);
	probe lookup-hit-negative(struct inode *folder, char *name);
	probe lookup-miss(struct inode *folder, char *name);
	probe lookup-return(int error, struct inode *vnode);
	probe purge-done(struct inode *vnode);
	probe vop_close-entry(struct inode *vnode, struct file *file);
	probe vop_close-return(struct inode *vnode, struct file *file, int error);
	probe vop_create-entry(struct inode *folder, struct dentry *entry);
	probe vop_create-return(struct inode *folder, struct dentry *entry, int error);
	probe vop_fsync-entry(struct inode *vnode, struct file *file);
	probe vop_fsync-return(struct inode *vnode, struct file *file, int error);
	probe vop_getattr-entry(struct inode *vnode, struct dentry *entry);
	probe vop_getattr-return(struct inode *vnode, struct dentry *entry, int error);
	probe vop_ioctl-entry(struct inode *vnode, struct file *file);
	probe vop_ioctl-return(struct inode *vnode, struct file *file, int error);
	probe vop_link-entry(struct inode *folder, struct dentry *entry);
	probe vop_link-return(struct inode *folder, struct dentry *entry, int error);
	probe vop_lookup-entry(struct inode *folder, struct qstr *name);
	probe vop_lookup-return(struct inode *folder, struct qstr *name, int error);
	probe vop_mkdir-entry(struct inode *folder, struct dentry *entry);
	probe vop_mkdir-return(struct inode *folder, struct dentry *entry, int error);
	probe vop_mknod-entry(struct inode *folder, struct dentry *entry);
	probe vop_mknod-return(struct inode *folder, struct dentry *entry, int error);
	probe vop_open-entry(struct inode *vnode, struct dentry *entry);
	probe vop_open-return(struct inode *vnode, struct dentry *entry, int error);
	probe vop_read-entry(struct inode *vnode, struct file *file);
	probe vop_read-return(struct inode *vnode, struct file *file, int error);
	probe vop_readdir-entry(struct inode *vnode, struct file *file);
	probe vop_readdir-return(struct inode *vnode, struct file *file, int error);
	probe vop_readlink-entry(struct inode *vnode, struct dentry *entry);
	probe vop_readlink-return(struct inode *vnode, struct dentry *entry, int error);
	probe vop_reclaim-entry(struct inode *vnode);
	probe vop_reclaim-return(struct inode *vnode, void *none, int error);
	probe vop_remove-entry(struct inode *folder, struct dentry *entry);
	probe vop_remove-return(struct inode *folder, struct dentry *entry, int error);
	probe vop_rename-entry(struct inode *folder, struct dentry *entry);
	probe vop_rename-return(struct inode *folder, struct dentry *entry, int error);
	probe vop_rmdir-entry(struct inode *folder, struct dentry *entry);
	probe vop_rmdir-return(struct inode *folder, struct dentry *entry, int error);
	probe vop_setattr-entry(struct inode *vnode, struct dentry *entry);
	probe vop_setattr-return(struct inode *vnode, struct dentry *entry, int error);
	probe vop_symlink-entry(struct inode *folder, struct dentry *entry);
	probe vop_symlink-return(struct inode *folder, struct dentry *entry, int error);
	probe vop_write-entry(struct inode *vnode, struct file *file);
	probe vop_write-return(struct inode *vnode, struct file *file, int error);
	probe zap-done(struct inode *vnode, char *name);
	probe zap_negative-done(struct inode *folder, char *name);
};
