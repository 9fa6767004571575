/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Builds a line of text from strings and decimal numbers, without libc. The
 * text is truncated at the end of the buffer and always ends with a NUL.
 */
#ifndef DIF_TEXT_H
#define DIF_TEXT_H

#include "dif/types.h"

struct dt_text {
	char *at;
	dt_size used, max;
};

static inline void dt_text_start(struct dt_text *t, char *at, dt_size max)
{
	t->at = at;
	t->used = 0;
	t->max = max;
	if (max)
		at[0] = 0;
}

static inline void dt_text_char(struct dt_text *t, char c)
{
	if (t->used + 1 >= t->max)
		return;
	t->at[t->used++] = c;
	t->at[t->used] = 0;
}

static inline void dt_text_put(struct dt_text *t, const char *s)
{
	while (*s)
		dt_text_char(t, *s++);
}

static inline void dt_text_number(struct dt_text *t, dt_u64 n)
{
	char digits[20];
	int count = 0;

	do {
		digits[count++] = (char)('0' + n % 10);
		n /= 10;
	} while (n);
	while (count)
		dt_text_char(t, digits[--count]);
}

#endif
