/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * D's globs: * ? [a-z] [!a-z] and backslash.
 *
 * A star remembers where it stood; a later mismatch goes back to the last star
 * only, so that matching costs at most pattern times text.
 */
#include "dif/engine.h"
#include "dif/mem.h"

int dt_is_glob(const char *text)
{
	for (; *text; text++) {
		if (*text == '*' || *text == '?' || *text == '[' ||
		    *text == '\\')
			return 1;
	}
	return 0;
}

/*
 * A class at p, which points behind its '['. Sets *end behind its ']'; returns
 * whether c is in it, or -1: no ']', so the '[' stands for itself.
 */
static int dt_glob_class(const char *p, char c, const char **end)
{
	int negate = *p == '!', in = 0;
	const char *first;

	if (negate)
		p++;
	for (first = p; *p && (*p != ']' || p == first); p++) {
		unsigned char low, high;

		if (*p == '\\' && p[1])
			p++;
		low = high = (unsigned char)*p;
		if (p[1] == '-' && p[2] && p[2] != ']') {
			p += 2;
			if (*p == '\\' && p[1])
				p++;
			high = (unsigned char)*p;
		}
		if ((unsigned char)c >= low && (unsigned char)c <= high)
			in = 1;
	}
	if (*p != ']')
		return -1;
	*end = p + 1;
	return in != negate;
}

/* One pattern element against one character; *next is behind the element. */
static int dt_glob_one(const char *p, char c, const char **next)
{
	int in;

	*next = p + 1;
	switch (*p) {
	case 0:
		return 0;
	case '?':
		return 1;
	case '[':
		in = dt_glob_class(p + 1, c, next);
		return in < 0 ? c == '[' : in;
	case '\\':
		if (p[1]) {
			*next = p + 2;
			return p[1] == c;
		}
		return c == '\\';
	default:
		return *p == c;
	}
}

int dt_glob(const char *pattern, const char *text)
{
	const char *star = DT_NULL, *resume = DT_NULL, *next;

	if (!*pattern)
		return 1;
	while (*text) {
		if (*pattern == '*') {
			star = ++pattern;
			resume = text;
		} else if (dt_glob_one(pattern, *text, &next)) {
			pattern = next;
			text++;
		} else if (star) {
			pattern = star;
			text = ++resume;
		} else {
			return 0;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}
