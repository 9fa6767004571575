/* SPDX-License-Identifier: MIT */
#include "internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

static _Thread_local char dt_usdt_sentence[1024];

int dt_usdt_fail(int error, const char *format, ...)
{
	va_list rest;

	va_start(rest, format);
	vsnprintf(dt_usdt_sentence, sizeof dt_usdt_sentence, format, rest);
	va_end(rest);
	return error;
}

const char *dtrace_usdt_error(void)
{
	return dt_usdt_sentence;
}
