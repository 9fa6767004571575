/* SPDX-License-Identifier: MIT */
/*
 * Internal declarations of libdtrace-usdt, shared by its files.
 *
 *   provider.c   create, add, load, destroy: the public functions
 *     names.c    valid names and types
 *     image.c    the probes of one load as the bytes of a shared object
 *     object.c   loads such bytes as a library of this process
 *   error.c      the message about the last failure
 *   bytes.c      a growing block of memory
 *
 * A function that fails sets the message and returns an errno.
 */
#ifndef DT_USDT_INTERNAL_H
#define DT_USDT_INTERNAL_H

#include <dtrace/usdt.h>
#include <dtrace/usdt_names.h>
#include <stddef.h>
#include <stdint.h>

#define DT_HIDDEN __attribute__((visibility("hidden")))

enum {
	DT_USDT_MAX_PROVIDER = DTRACE_USDT_MAX_PROVIDER_BYTES,
	DT_USDT_MAX_MODULE = 63,
	DT_USDT_MAX_FUNCTION = 127,
	DT_USDT_MAX_NAME = DTRACE_USDT_MAX_NAME_BYTES,
	/* the limit for one load; keeps all offsets in an image below 2^31 */
	DT_USDT_MAX_PROBES = 1 << 20,
};

/*
 * One row per type: its name, and its size in a note, where - means signed and
 * f floating-point.
 */
/* clang-format off */
#define DT_USDT_TYPES(X)     \
	X("int8_t",   "-1")  \
	X("int16_t",  "-2")  \
	X("int32_t",  "-4")  \
	X("int64_t",  "-8")  \
	X("uint8_t",  "1")   \
	X("uint16_t", "2")   \
	X("uint32_t", "4")   \
	X("uint64_t", "8")   \
	X("pointer",  "8")   \
	X("string",   "8")   \
	X("double",   "8f")
/* clang-format on */

/* A probe that was added but is not loaded yet. */
struct dt_usdt_wanted {
	const struct dtrace_usdt_probe **slot;
	char *function;
	char *name; /* as in the note: query__start */
	const char
	    *types[DTRACE_USDT_MAX_ARGUMENTS]; /* as sizes in a note */
	unsigned n_types;
};

/*
 * A growing block of bytes. The caller checks once at the end whether an
 * allocation failed.
 */
struct dt_bytes {
	unsigned char *data;
	size_t len_bytes;
	size_t size_bytes;
	int failed;
};

DT_HIDDEN void dt_bytes_add(struct dt_bytes *bytes, const void *data,
			    size_t len_bytes);
DT_HIDDEN void dt_bytes_add_text(struct dt_bytes *bytes, const char *text);
DT_HIDDEN void dt_bytes_add_u32(struct dt_bytes *bytes, uint32_t value);
DT_HIDDEN void dt_bytes_add_u64(struct dt_bytes *bytes, uint64_t value);
/*
 * dt_bytes_pad() adds zeros up to an offset. dt_bytes_align() adds zeros up to
 * a multiple of unit_bytes, which is a power of two.
 */
DT_HIDDEN void dt_bytes_pad(struct dt_bytes *bytes, size_t to_bytes);
DT_HIDDEN void dt_bytes_align(struct dt_bytes *bytes, size_t unit_bytes);
/* Overwrites existing bytes. */
DT_HIDDEN void dt_bytes_put(struct dt_bytes *bytes, size_t at, const void *data,
			    size_t len_bytes);
DT_HIDDEN void dt_bytes_free(struct dt_bytes *bytes);

/*
 * Sets the error message of the calling thread. The message has no newline.
 * Returns `error`, an errno.
 */
DT_HIDDEN int dt_usdt_fail(int error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

DT_HIDDEN int dt_usdt_check_provider(const char *name);
DT_HIDDEN int dt_usdt_check_module(const char *name);
DT_HIDDEN int dt_usdt_check_function(const char *name);
DT_HIDDEN int dt_usdt_check_name(const char *name);
DT_HIDDEN int dt_usdt_parse_types(const char *text,
				  struct dt_usdt_wanted *wanted);

/* An image, and the offsets of the parts that the loader needs. */
struct dt_usdt_image {
	struct dt_bytes bytes;
	size_t dynamic_at;
	size_t token_at;  /* 8 bytes, as given to dt_usdt_make_image() */
	size_t probes_at; /* a struct dtrace_usdt_probe for each probe */
	size_t stubs_at;  /* the functions that probes call */
};

enum { DT_USDT_STUB_BYTES = 16 };

/*
 * Makes an image. `token` distinguishes the image from all other images in this
 * process. Returns 0 or ENOMEM.
 */
DT_HIDDEN int dt_usdt_make_image(struct dt_usdt_image *image,
				 const char *provider,
				 const struct dt_usdt_wanted *wanted,
				 size_t n_wanted, uint64_t token);

/* A loaded image. */
struct dt_usdt_object {
	struct dt_usdt_object *next;
	void *handle;
	unsigned char *base;
	int fd;
	uint64_t device, inode; /* identify the file that fd refers to */
	const struct dtrace_usdt_probe ***slots;
	size_t n_slots;
};

DT_HIDDEN int dt_usdt_load_image(struct dt_usdt_object *object,
				 const struct dt_usdt_image *image,
				 const char *module, uint64_t token);
DT_HIDDEN void dt_usdt_unload(struct dt_usdt_object *object);

#endif
