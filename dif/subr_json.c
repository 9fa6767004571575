/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Implements json(text, path), which returns the value at a path such as
 * a.b[3].c.
 *
 * The parser makes one pass and needs no stack. To skip a value that is not on
 * the path, it counts brackets. Values may be nested to any depth, and the time
 * is linear. A string is returned without its quotes, and its escape sequences
 * are not decoded. The result is NULL if there is no value at the path, or if
 * the text before the value cannot be parsed.
 */
#include "dif/mstate.h"

struct dt_json {
	const dt_u8 *s;
	dt_u64 at, end;
};

static void dt_json_blank(struct dt_json *j)
{
	while (j->at < j->end && (j->s[j->at] == ' ' || j->s[j->at] == '\t' ||
				  j->s[j->at] == '\n' || j->s[j->at] == '\r'))
		j->at++;
}

static int dt_json_take(struct dt_json *j, dt_u8 c)
{
	dt_json_blank(j);
	if (j->at == j->end || j->s[j->at] != c)
		return 0;
	j->at++;
	return 1;
}

/*
 * Reads the rest of a string whose opening quote has been read, including the
 * closing quote. Sets [*from, *to) to the string without quotes. Returns 0 if
 * there is no closing quote.
 */
static int dt_json_string(struct dt_json *j, dt_u64 *from, dt_u64 *to)
{
	*from = j->at;
	for (; j->at < j->end; j->at++) {
		if (j->s[j->at] == '"') {
			*to = j->at++;
			return 1;
		}
		if (j->s[j->at] == '\\')
			j->at++;
	}
	return 0;
}

/*
 * Skips one value, and sets [*from, *to) to its text. Returns 0 if the value is
 * incomplete.
 */
static int dt_json_value(struct dt_json *j, dt_u64 *from, dt_u64 *to)
{
	dt_u64 depth = 0, ignore;

	dt_json_blank(j);
	if (j->at == j->end)
		return 0;
	if (j->s[j->at] == '"') {
		j->at++;
		return dt_json_string(j, from, to);
	}
	*from = j->at;
	while (j->at < j->end) {
		dt_u8 c = j->s[j->at];

		if (c == '"') {
			j->at++;
			if (!dt_json_string(j, &ignore, &ignore))
				return 0;
			continue;
		}
		if (!depth && (c == ',' || c == '}' || c == ']' || c == ' ' ||
			       c == '\t' || c == '\n' || c == '\r'))
			break;
		j->at++;
		if (c == '{' || c == '[')
			depth++;
		else if ((c == '}' || c == ']') && !--depth)
			break;
	}
	*to = j->at;
	return !depth && *to > *from;
}

/*
 * Moves from the start of an object to the value of one of its keys. Returns 0
 * if the key does not exist.
 */
static int dt_json_member(struct dt_json *j, const dt_u8 *key, dt_u64 len)
{
	dt_u64 from, to;

	if (!dt_json_take(j, '{'))
		return 0;
	do {
		if (!dt_json_take(j, '"') || !dt_json_string(j, &from, &to) ||
		    !dt_json_take(j, ':'))
			return 0;
		if (to - from == len && dt_same(j->s + from, key, len))
			return 1;
		if (!dt_json_value(j, &from, &to))
			return 0;
	} while (dt_json_take(j, ','));
	return 0;
}

static int dt_json_element(struct dt_json *j, dt_u64 index)
{
	dt_u64 from, to;

	if (!dt_json_take(j, '['))
		return 0;
	dt_json_blank(j);
	if (j->at < j->end && j->s[j->at] == ']')
		return 0;
	while (index--) {
		if (!dt_json_value(j, &from, &to) || !dt_json_take(j, ','))
			return 0;
	}
	return 1;
}

/*
 * Moves to the value of the path's component that begins at *at, and advances
 * *at to the next component. Returns 0 if the value does not exist.
 */
static int dt_json_part(struct dt_json *j, const dt_u8 *path, dt_u64 len,
			dt_u64 *at)
{
	dt_u64 from = *at, index = 0;

	if (path[from] == '[') {
		for (from++; from < len && path[from] >= '0' &&
			     path[from] <= '9' && index < 0x10000000;
		     from++)
			index = index * 10 + (path[from] - '0');
		if (from == len || path[from] != ']' || from == *at + 1)
			return 0;
		*at = from + 1;
		return dt_json_element(j, index);
	}
	if (path[from] == '.')
		from++;
	for (*at = from; *at < len && path[*at] != '.' && path[*at] != '[';)
		(*at)++;
	return *at > from && dt_json_member(j, path + from, *at - from);
}

dt_u64 dt_subr_json(struct dt_mstate *m)
{
	struct dt_json j;
	dt_u64 len, at = 0, from, to;
	const dt_u8 *path;

	j.at = 0;
	j.s = dt_string(m, dt_arg(m, 0), &j.end);
	path = j.s ? dt_string(m, dt_arg(m, 1), &len) : DT_NULL;
	if (!path || !len)
		return 0;
	while (at < len) {
		if (!dt_json_part(&j, path, len, &at))
			return 0;
	}
	if (!dt_json_value(&j, &from, &to))
		return 0;
	return dt_new_string(m, j.s + from, to - from);
}
