/* SPDX-License-Identifier: MIT */
/*
 * fuse_server FOLDER FILE: serves one file, FOLDER/program, with the content of FILE. The
 * kernel may cache its pages, but no attributes and no names. Prints "ready". After a line
 * of input, it answers no request any more. It exits when its input ends, or after two
 * minutes: a process that waits for it cannot be killed.
 */
#define FUSE_USE_VERSION 31
#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int file;
static atomic_int stalled;

static void stall(void)
{
	while (stalled)
		pause();
}

static int get_attributes(const char *path, struct stat *out, struct fuse_file_info *info)
{
	(void)info;
	stall();
	if (strcmp(path, "/") == 0) {
		memset(out, 0, sizeof *out);
		out->st_mode = S_IFDIR | 0755;
		out->st_nlink = 2;
		return 0;
	}
	if (strcmp(path, "/program") != 0)
		return -ENOENT;
	if (fstat(file, out) != 0)
		return -errno;
	out->st_mode = S_IFREG | 0755;
	return 0;
}

static int open_file(const char *path, struct fuse_file_info *info)
{
	(void)path;
	stall();
	info->keep_cache = 1;
	return 0;
}

static int read_file(const char *path, char *to, size_t bytes, off_t at,
		     struct fuse_file_info *info)
{
	(void)path;
	(void)info;
	stall();
	ssize_t n = pread(file, to, bytes, at);
	return n < 0 ? -errno : (int)n;
}

static int get_statistics(const char *path, struct statvfs *out)
{
	(void)path;
	(void)out;
	stall();
	return 0;
}

static void *read_input(void *arg)
{
	char c;

	if (read(0, &c, 1) == 1)
		stalled = 1;
	while (read(0, &c, 1) == 1)
		;
	(void)arg;
	_exit(0);
}

static void *start(struct fuse_conn_info *connection, struct fuse_config *config)
{
	pthread_t thread;

	(void)connection;
	config->entry_timeout = 0;
	config->attr_timeout = 0;
	config->negative_timeout = 0;
	pthread_create(&thread, NULL, read_input, NULL);
	puts("ready");
	fflush(stdout);
	return NULL;
}

static const struct fuse_operations operations = {
	.init = start,
	.getattr = get_attributes,
	.open = open_file,
	.read = read_file,
	.statfs = get_statistics,
};

int main(int argc, char **argv)
{
	char *arguments[] = {argv[0], "-f", "-o", "allow_other", argv[1], NULL};

	if (argc != 3)
		return 2;
	file = open(argv[2], O_RDONLY);
	if (file < 0)
		return 1;
	alarm(120);
	return fuse_main(5, arguments, &operations, NULL);
}
