/* SPDX-License-Identifier: MIT */
/*
 * Checks names and types. A name is valid if D can express it and all readers
 * of notes accept it. Characters are classified as in ASCII, independently of
 * the locale.
 */
#include "internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int dt_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int dt_begins_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

enum { DT_SHOWN_BYTES = 40 };

struct dt_shown {
	char text[4 * DT_SHOWN_BYTES + 1];
};

/*
 * Returns at most 40 bytes of a text. Bytes that are not visible ASCII are
 * escaped (\x20), because they could affect a terminal.
 */
static struct dt_shown dt_shown(const char *text, size_t len_bytes)
{
	struct dt_shown shown = {""};
	char *to = shown.text;

	for (size_t i = 0; i < len_bytes && i < DT_SHOWN_BYTES; i++)
		to += sprintf(
		    to, text[i] > ' ' && text[i] <= '~' ? "%c" : "\\x%02x",
		    (unsigned char)text[i]);
	return shown;
}

static int dt_check_length(const char *what, const char *name, size_t max_bytes)
{
	size_t n = strlen(name);

	if (n == 0)
		return dt_usdt_fail(EINVAL, "a %s's name is empty", what);
	if (n > max_bytes)
		return dt_usdt_fail(EINVAL,
				    "the name of %s %s... is %zu bytes "
				    "long, which exceeds the maximum of "
				    "%zu: give it a shorter name",
				    what, dt_shown(name, 20).text, n,
				    max_bytes);
	return 0;
}

static int dt_check_word(const char *what, const char *name, size_t max_bytes,
			 const char *also)
{
	int error = dt_check_length(what, name, max_bytes);

	if (error)
		return error;
	if (!dt_begins_name(name[0]))
		return dt_usdt_fail(
		    EINVAL,
		    "a %s's name must begin with a letter or _, not with %s", what,
		    dt_shown(name, 1).text);
	for (const char *c = name; *c; c++)
		if (!dt_begins_name(*c) && !dt_is_digit(*c) &&
		    !strchr(also, *c))
			return dt_usdt_fail(
			    EINVAL,
			    "%s %.*s... contains %s: only letters, digits%s and "
			    "_ are allowed",
			    what, (int)(c - name), name, dt_shown(c, 1).text,
			    *also ? ", -" : "");
	return 0;
}

static int dt_is_of_dtrace(const char *provider)
{
#define X(own) || strcmp(provider, own) == 0
	return 0 DTRACE_USDT_OWN_PROVIDERS(X);
#undef X
}

int dt_usdt_check_provider(const char *name)
{
	int error = dt_check_word("provider", name, DT_USDT_MAX_PROVIDER, "");

	if (!error && dt_is_of_dtrace(name))
		return dt_usdt_fail(EINVAL,
				    "provider %s is one of DTrace's own: "
				    "choose another name",
				    name);
	if (!error && dt_is_digit(name[strlen(name) - 1]))
		return dt_usdt_fail(EINVAL,
				    "provider %s ends in a digit, but D "
				    "appends the pid: append _ to the name",
				    name);
	return error;
}

int dt_usdt_check_name(const char *name)
{
	size_t in_note = strlen(name);
	int error = dt_check_word("probe", name, DT_USDT_MAX_NAME, "-");

	for (const char *c = name; *c; c++)
		in_note += *c == '-';
	if (!error && in_note > DT_USDT_MAX_NAME)
		return dt_usdt_fail(EINVAL,
				    "the name of probe %.20s... is %zu bytes "
				    "long, which exceeds the maximum of %d "
				    "(each - is stored as two bytes, __)",
				    name, in_note, DT_USDT_MAX_NAME);
	return error;
}

static int dt_check_visible(const char *what, const char *name,
			    size_t max_bytes, const char *never)
{
	int error = dt_check_length(what, name, max_bytes);

	if (error)
		return error;
	for (const char *c = name; *c; c++)
		if (*c <= ' ' || *c > '~' || strchr(never, *c))
			return dt_usdt_fail(
			    EINVAL,
			    "%s %.*s... contains %s: only visible ASCII "
			    "characters except %s are allowed",
			    what, (int)(c - name), name, dt_shown(c, 1).text,
			    never[1] ? ": and /" : ":");
	return 0;
}

int dt_usdt_check_module(const char *name)
{
	int error = dt_check_visible("module", name, DT_USDT_MAX_MODULE, ":/");

	/* The module's name may become the name of a file. */
	if (!error && (strcmp(name, ".") == 0 || strcmp(name, "..") == 0))
		return dt_usdt_fail(EINVAL,
				    "a module's name must not be '%s', which is "
				    "the name of a directory",
				    name);
	return error;
}

int dt_usdt_check_function(const char *name)
{
	return dt_check_visible("function", name, DT_USDT_MAX_FUNCTION, ":");
}

static const char *dt_size_of_type(const char *name, size_t len_bytes)
{
	static const struct {
		const char *name, *size;
	} rows[] = {
#define X(name, size) {name, size},
	    DT_USDT_TYPES(X)
#undef X
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		if (strlen(rows[i].name) == len_bytes &&
		    memcmp(rows[i].name, name, len_bytes) == 0)
			return rows[i].size;
	return NULL;
}

int dt_usdt_parse_types(const char *text, struct dt_usdt_wanted *wanted)
{
	static const char blanks[] = " \t\n,";

	wanted->n_types = 0;
	for (text += strspn(text, blanks); *text;
	     text += strspn(text, blanks)) {
		size_t n = strcspn(text, blanks);
		const char *size = dt_size_of_type(text, n);

		if (!size)
			return dt_usdt_fail(
			    EINVAL,
			    "'%s' is not an argument type; the types are"
#define X(name, size) " " name
			    DT_USDT_TYPES(X),
#undef X
			    dt_shown(text, n).text);
		if (wanted->n_types == DTRACE_USDT_MAX_ARGUMENTS)
			return dt_usdt_fail(EINVAL,
					    "a probe has at most %d arguments",
					    DTRACE_USDT_MAX_ARGUMENTS);
		wanted->types[wanted->n_types++] = size;
		text += n;
	}
	return 0;
}
