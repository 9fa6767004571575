/* SPDX-License-Identifier: MIT */
/*
 * Loads an image as a library of this process. It calls dlopen(3) on a memory
 * file (memfd_create(2)), or on a file below $TMPDIR if code in memory files is
 * not permitted. The file below $TMPDIR is unlinked as soon as it is loaded.
 *
 *   the name of the file     the name of the module, which tracers show
 *   the name for dlopen()    /proc/PID/fd/N, which a debugger of this process can open too
 *   the descriptor           stays open: tracers of the same user read the file through it
 *
 * If the program closes our descriptor, another file may get its number and
 * name. dlopen() would then return the old library. So a loaded library is
 * accepted only if it contains the token of the image (dt_usdt_make_image()).
 */
#define _GNU_SOURCE
#include "internal.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL                                                        \
	8U /* since Linux 6.3: the file cannot be executed, but may be mapped */
#endif

enum { DT_MAX_NAMES_TAKEN = 16 };

/*
 * The error from one of the two ways to load an image: from a memory file, or
 * from a file below $TMPDIR.
 */
struct dt_trouble {
	int error;
	char text[400];
};

/* Stores an error and returns -1. Long text is truncated. */
__attribute__((format(printf, 3, 4))) static int
dt_told(struct dt_trouble *trouble, int error, const char *format, ...)
{
	va_list rest;

	trouble->error = error;
	va_start(rest, format);
	vsnprintf(trouble->text, sizeof trouble->text, format, rest);
	va_end(rest);
	return -1;
}

static int dt_trouble(struct dt_trouble *trouble, int error, const char *doing)
{
	return dt_told(trouble, error, "%s: %s", doing, strerror(error));
}

/*
 * If fd is 0, 1 or 2, replaces it with a descriptor above 2 and closes fd,
 * because other code uses these numbers for standard streams. Returns -1 if no
 * descriptor is available.
 */
static int dt_away_from_streams(int fd)
{
	int moved;

	if (fd < 0 || fd > 2)
		return fd;
	moved = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	close(fd);
	return moved;
}

static int dt_write_all(int fd, const struct dt_bytes *bytes)
{
	struct rlimit limit;
	size_t done = 0;

	/* Beyond the limit, the kernel would send SIGXFSZ, which terminates the process. */
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
	    limit.rlim_cur < bytes->len_bytes) {
		errno = EFBIG;
		return -1;
	}
	while (done < bytes->len_bytes) {
		ssize_t n =
		    write(fd, bytes->data + done, bytes->len_bytes - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		done += (size_t)n;
	}
	return 0;
}

static int dt_is_file(const struct stat *file, const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && st.st_dev == file->st_dev &&
	       st.st_ino == file->st_ino;
}

/*
 * Stores a path of the descriptor's file in `name`. This is `path` if the file
 * is not accessible through /proc. Returns -1 if the descriptor is not open, or
 * if no path is available.
 */
static int dt_find_name(int fd, char *name, size_t size, const char *path)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return -1;
	snprintf(name, size, "/proc/%ld/fd/%d", (long)getpid(), fd);
	if (dt_is_file(&st, name))
		return 0;
	snprintf(name, size, "/proc/self/fd/%d", fd);
	if (dt_is_file(&st, name))
		return 0;
	return path && snprintf(name, size, "%s", path) < (int)size ? 0 : -1;
}

static int dt_is_ours(void *handle, const struct dt_usdt_image *image,
		      uint64_t token, unsigned char **base)
{
	struct link_map *map;

	if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0)
		return 0;
	*base = (unsigned char *)map->l_addr;
	return (unsigned char *)map->l_ld == *base + image->dynamic_at &&
	       memcmp(*base + image->token_at, &token, sizeof token) == 0;
}

/*
 * Loads the descriptor's file. Takes ownership of the descriptor, which is
 * closed on failure. `path` is the file's path or NULL.
 */
static int dt_open_library(struct dt_usdt_object *object,
			   const struct dt_usdt_image *image, uint64_t token,
			   int fd, const char *path, struct dt_trouble *trouble)
{
	struct stat st;
	char name[4096];

	for (int i = 0; i < DT_MAX_NAMES_TAKEN; i++) {
		int next;

		if (fstat(fd, &st) != 0 ||
		    dt_find_name(fd, name, sizeof name, path) != 0) {
			dt_trouble(trouble, errno,
				   "find the file's name in /proc");
			break;
		}
		object->handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
		if (!object->handle) {
			const char *why = dlerror();

			dt_told(trouble, EACCES, "%s", why ? why : name);
			break;
		}
		if (dt_is_ours(object->handle, image, token, &object->base)) {
			object->fd = fd;
			object->device = st.st_dev;
			object->inode = st.st_ino;
			return 0;
		}
		dlclose(object->handle);
		dt_trouble(trouble, EEXIST, name);
		next = fcntl(fd, F_DUPFD_CLOEXEC, fd + 1);
		if (next < 0) {
			dt_trouble(trouble, errno, "duplicate a descriptor");
			break;
		}
		close(fd);
		fd = next;
	}
	close(fd);
	return -1;
}

static int dt_load_from_memory(struct dt_usdt_object *object,
			       const struct dt_usdt_image *image,
			       const char *module, uint64_t token,
			       struct dt_trouble *trouble)
{
	int fd = memfd_create(module, MFD_CLOEXEC | MFD_ALLOW_SEALING |
					  MFD_NOEXEC_SEAL);

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create(module, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	fd = dt_away_from_streams(fd);
	if (fd < 0)
		return dt_trouble(trouble, errno, "memfd_create");
	if (dt_write_all(fd, &image->bytes) != 0) {
		dt_trouble(trouble, errno, "write to a memfd");
		close(fd);
		return -1;
	}
	/*
	 * The seals prevent changes to the mapped file. If they cannot be
	 * added, the file is loaded without them.
	 */
	(void)fcntl(fd, F_ADD_SEALS,
		    F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
	return dt_open_library(object, image, token, fd, NULL, trouble);
}

static int dt_load_from_folder(struct dt_usdt_object *object,
			       const struct dt_usdt_image *image,
			       const char *module, uint64_t token,
			       struct dt_trouble *trouble)
{
	const char *tmp = secure_getenv("TMPDIR");
	char folder[3072], path[3200];
	int fd, failed;

	snprintf(folder, sizeof folder, "%s/dtrace-usdt-XXXXXX",
		 tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(folder))
		return dt_trouble(trouble, errno, folder);
	snprintf(path, sizeof path, "%s/%s", folder, module);
	fd = dt_away_from_streams(
	    open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0700));
	if (fd < 0) {
		failed = dt_trouble(trouble, errno, path);
	} else if (dt_write_all(fd, &image->bytes) != 0) {
		failed = dt_trouble(trouble, errno, path);
		close(fd);
	} else {
		failed =
		    dt_open_library(object, image, token, fd, path, trouble);
	}
	unlink(path);
	rmdir(folder);
	return failed;
}

int dt_usdt_load_image(struct dt_usdt_object *object,
		       const struct dt_usdt_image *image, const char *module,
		       uint64_t token)
{
	struct dt_trouble memory, folder;

	if (dt_load_from_memory(object, image, module, token, &memory) == 0 ||
	    dt_load_from_folder(object, image, module, token, &folder) == 0)
		return 0;
	return dt_usdt_fail(
	    folder.error,
	    "the probes of module %s can be loaded neither from memory (%s) "
	    "nor from a file (%s): set TMPDIR to a writable directory that is "
	    "not mounted noexec",
	    module, memory.text, folder.text);
}

void dt_usdt_unload(struct dt_usdt_object *object)
{
	struct stat st;

	dlclose(object->handle);
	if (fstat(object->fd, &st) == 0 && st.st_dev == object->device &&
	    st.st_ino == object->inode)
		close(object->fd);
}
