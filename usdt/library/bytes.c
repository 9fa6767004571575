/* SPDX-License-Identifier: MIT */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

static int dt_bytes_have_room(struct dt_bytes *bytes, size_t more_bytes)
{
	size_t wanted = bytes->len_bytes + more_bytes;
	size_t size = bytes->size_bytes ? bytes->size_bytes : 4096;
	unsigned char *data;

	if (bytes->failed)
		return 0;
	if (wanted <= bytes->size_bytes)
		return 1;
	while (size < wanted)
		size *= 2;
	data = realloc(bytes->data, size);
	if (!data) {
		bytes->failed = 1;
		return 0;
	}
	bytes->data = data;
	bytes->size_bytes = size;
	return 1;
}

void dt_bytes_add(struct dt_bytes *bytes, const void *data, size_t len_bytes)
{
	if (!dt_bytes_have_room(bytes, len_bytes))
		return;
	memcpy(bytes->data + bytes->len_bytes, data, len_bytes);
	bytes->len_bytes += len_bytes;
}

void dt_bytes_add_text(struct dt_bytes *bytes, const char *text)
{
	dt_bytes_add(bytes, text, strlen(text) + 1);
}

void dt_bytes_add_u32(struct dt_bytes *bytes, uint32_t value)
{
	dt_bytes_add(bytes, &value, sizeof value);
}

void dt_bytes_add_u64(struct dt_bytes *bytes, uint64_t value)
{
	dt_bytes_add(bytes, &value, sizeof value);
}

void dt_bytes_pad(struct dt_bytes *bytes, size_t to_bytes)
{
	size_t n = to_bytes - bytes->len_bytes;

	if (bytes->failed || !dt_bytes_have_room(bytes, n))
		return;
	memset(bytes->data + bytes->len_bytes, 0, n);
	bytes->len_bytes += n;
}

void dt_bytes_align(struct dt_bytes *bytes, size_t unit_bytes)
{
	dt_bytes_pad(bytes,
		     (bytes->len_bytes + unit_bytes - 1) & ~(unit_bytes - 1));
}

void dt_bytes_put(struct dt_bytes *bytes, size_t at, const void *data,
		  size_t len_bytes)
{
	if (!bytes->failed)
		memcpy(bytes->data + at, data, len_bytes);
}

void dt_bytes_free(struct dt_bytes *bytes)
{
	free(bytes->data);
	memset(bytes, 0, sizeof *bytes);
}
