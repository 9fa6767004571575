/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Subroutines for strings and paths.
 *
 * A string argument is a slice: an address and a number of bytes, at most
 * strsize. Other threads may change the bytes while a subroutine runs, so the
 * code does not rely on a NUL. Results are new strings in scratch memory,
 * except those of strchr(), strrchr() and strstr(), which are addresses inside
 * the argument.
 */
#include "dif/find.h"
#include "dif/mstate.h"

/* Gets string argument n. Returns 0, or raises a fault and returns -1. */
static int dt_slice_arg(struct dt_mstate *m, dt_u32 n, struct dt_slice *to)
{
	to->s = dt_string(m, dt_arg(m, n), &to->len);
	return to->s && !m->fault ? 0 : -1;
}

dt_u64 dt_subr_strlen(struct dt_mstate *m)
{
	struct dt_slice a;

	return dt_slice_arg(m, 0, &a) == 0 ? a.len : 0;
}

dt_u64 dt_subr_strjoin(struct dt_mstate *m)
{
	struct dt_slice a, b;
	dt_u64 at;

	if (dt_slice_arg(m, 0, &a) != 0 || dt_slice_arg(m, 1, &b) != 0)
		return 0;
	if (a.len + b.len + 1 > m->strsize) {
		dt_fault(m, DTRACEFLT_NOSCRATCH, 0);
		return 0;
	}
	at = dt_alloc(m, a.len + b.len + 1);
	if (!at)
		return 0;
	dt_copy(dt_scratch(m, at), a.s, a.len);
	dt_copy(dt_scratch(m, at) + a.len, b.s, b.len);
	dt_scratch(m, at)[a.len + b.len] = 0;
	return at;
}

/* If the character is NUL, returns the end of the string, like strchr(3). */
dt_u64 dt_subr_strchr(struct dt_mstate *m)
{
	struct dt_slice a;
	dt_u8 c = (dt_u8)dt_arg(m, 1);

	if (dt_slice_arg(m, 0, &a) != 0)
		return 0;
	for (dt_u64 i = 0; i < a.len; i++) {
		if (a.s[i] == c)
			return dt_arg(m, 0) + i;
	}
	return !c && a.len < m->strsize ? dt_arg(m, 0) + a.len : 0;
}

dt_u64 dt_subr_strrchr(struct dt_mstate *m)
{
	struct dt_slice a;
	dt_u8 c = (dt_u8)dt_arg(m, 1);

	if (dt_slice_arg(m, 0, &a) != 0)
		return 0;
	if (!c)
		return a.len < m->strsize ? dt_arg(m, 0) + a.len : 0;
	for (dt_u64 i = a.len; i-- > 0;) {
		if (a.s[i] == c)
			return dt_arg(m, 0) + i;
	}
	return 0;
}

dt_u64 dt_subr_strstr(struct dt_mstate *m)
{
	struct dt_slice a, b;
	dt_u64 at;

	if (dt_slice_arg(m, 0, &a) != 0 || dt_slice_arg(m, 1, &b) != 0)
		return 0;
	if (!b.len)
		return dt_arg(m, 0);
	at = dt_find(&a, &b, 0);
	return at == DT_NOT_FOUND ? 0 : dt_arg(m, 0) + at;
}

/* One bit for each byte value. */
struct dt_byte_set {
	dt_u64 words[4];
};

static void dt_set_make(struct dt_byte_set *set, const struct dt_slice *of)
{
	for (int i = 0; i < 4; i++)
		set->words[i] = 0;
	for (dt_u64 i = 0; i < of->len; i++)
		set->words[of->s[i] >> 6] |= 1ull << (of->s[i] & 63);
}

static int dt_is_in(dt_u8 c, const struct dt_byte_set *set)
{
	return (int)(set->words[c >> 6] >> (c & 63) & 1);
}

/*
 * If the first argument is a string, splits it and returns its first token. If
 * it is NULL, returns the next token of the previous string. The rest of the
 * string is stored in the shard, because it must outlive the scratch memory of
 * the clause.
 */
dt_u64 dt_subr_strtok(struct dt_mstate *m)
{
	struct dt_slice a, delims;
	struct dt_byte_set set;
	dt_u8 *rest = dt_at(m->base, dt_strtok_at(m));
	dt_u32 at, end, len;

	if (dt_slice_arg(m, 1, &delims) != 0)
		return 0;
	if (dt_arg(m, 0)) {
		if (dt_slice_arg(m, 0, &a) != 0)
			return 0;
		dt_copy(rest, a.s, a.len);
		m->strtok_pos = 0;
		m->strtok_len = (dt_u32)a.len;
	} else if (!m->strtok_len) {
		/* no string was passed to strtok() in this firing */
		dt_fault(m, DTRACEFLT_BADADDR, 0);
		return 0;
	}
	len = m->strtok_len == 0xffffffffu ? 0 : m->strtok_len;
	at = m->strtok_pos;
	dt_set_make(&set, &delims);
	while (at < len && dt_is_in(rest[at], &set))
		at++;
	for (end = at; end < len && !dt_is_in(rest[end], &set);)
		end++;
	if (at == len) {
		m->strtok_len = 0xffffffffu; /* the string has no more tokens */
		m->strtok_pos = 0;
		return 0;
	}
	/*
	 * The next call starts at this delimiter, not after it, because that
	 * call may have other delimiters.
	 */
	m->strtok_pos = end;
	return dt_new_string(m, rest + at, end - at);
}

dt_u64 dt_subr_substr(struct dt_mstate *m)
{
	struct dt_slice a;
	dt_s64 len, from = (dt_s32)dt_arg(m, 1), count, end;

	if (dt_slice_arg(m, 0, &a) != 0)
		return 0;
	len = (dt_s64)a.len;
	count = m->n_tuple > 2 ? (dt_s32)dt_arg(m, 2) : len + 0x100000000ll;
	if (from < 0)
		from += len;
	/* a negative count is the number of bytes to omit at the end */
	end = count < 0 ? len + count : from + count;
	if (end > len)
		end = len;
	if (from < 0)
		from = 0;
	if (from >= len || end <= from)
		return dt_new_string(m, "", 0);
	return dt_new_string(m, a.s + from, (dt_u64)(end - from));
}

dt_u64 dt_subr_index(struct dt_mstate *m)
{
	struct dt_slice a, b;
	dt_s64 at = m->n_tuple > 2 ? (dt_s32)dt_arg(m, 2) : 0, len;

	if (dt_slice_arg(m, 0, &a) != 0 || dt_slice_arg(m, 1, &b) != 0)
		return 0;
	len = (dt_s64)a.len;
	if (at < 0)
		at = 0;
	if (at > len)
		return b.len ? (dt_u64)-1 : (dt_u64)len;
	return dt_find(&a, &b, (dt_u64)at);
}

dt_u64 dt_subr_rindex(struct dt_mstate *m)
{
	struct dt_slice a, b;
	dt_s64 at, len;

	if (dt_slice_arg(m, 0, &a) != 0 || dt_slice_arg(m, 1, &b) != 0)
		return 0;
	len = (dt_s64)a.len;
	at = m->n_tuple > 2 ? (dt_s32)dt_arg(m, 2) : len;
	if (at < 0)
		return b.len ? (dt_u64)-1 : 0;
	if (at > len)
		at = len;
	return dt_find_last(&a, &b, (dt_u64)at);
}

static dt_u64 dt_recase(struct dt_mstate *m, dt_u8 first, dt_u8 last)
{
	struct dt_slice a;
	dt_u64 at;
	dt_u8 *s;

	if (dt_slice_arg(m, 0, &a) != 0)
		return 0;
	at = dt_new_string(m, a.s, a.len);
	if (!at)
		return 0;
	for (s = dt_scratch(m, at); *s; s++) {
		if (*s >= first && *s <= last)
			*s ^= 0x20;
	}
	return at;
}

dt_u64 dt_subr_toupper(struct dt_mstate *m)
{
	return dt_recase(m, 'a', 'z');
}

dt_u64 dt_subr_tolower(struct dt_mstate *m)
{
	return dt_recase(m, 'A', 'Z');
}

dt_u64 dt_subr_basename(struct dt_mstate *m)
{
	struct dt_slice a;
	dt_u64 end, at;

	if (dt_slice_arg(m, 0, &a) != 0)
		return 0;
	if (!a.len)
		return dt_new_string(m, ".", 1);
	for (end = a.len; end && a.s[end - 1] == '/';)
		end--;
	if (!end)
		return dt_new_string(m, "/", 1);
	for (at = end; at && a.s[at - 1] != '/';)
		at--;
	return dt_new_string(m, a.s + at, end - at);
}

dt_u64 dt_subr_dirname(struct dt_mstate *m)
{
	struct dt_slice a;
	dt_u64 end;

	if (dt_slice_arg(m, 0, &a) != 0)
		return 0;
	for (end = a.len; end && a.s[end - 1] == '/';)
		end--;
	if (!end)
		return dt_new_string(m, a.len ? "/" : ".", 1);
	while (end && a.s[end - 1] != '/')
		end--;
	if (!end)
		return dt_new_string(m, ".", 1);
	while (end && a.s[end - 1] == '/')
		end--;
	return end ? dt_new_string(m, a.s, end) : dt_new_string(m, "/", 1);
}

/*
 * Applies a ".." to the path in `to`: removes the last part, but keeps the
 * first `keep` bytes. If `end` is set, cleanpath()'s argument ends with this
 * "..". In this case, the slash before the removed part stays, and an empty
 * path becomes ".". Returns the new length.
 */
static dt_u64 dt_up(dt_u8 *to, dt_u64 used, dt_u64 keep, int end)
{
	while (used > keep && to[used - 1] != '/')
		used--;
	if (end && !used)
		to[used++] = '.';
	else if (!end && used > keep)
		used--;
	return used;
}

/*
 * Simplifies the text of a path, without accessing the file system. Consecutive
 * slashes become one. A "." is removed. A ".." removes the preceding part. A
 * ".." at the root has no effect. A ".." at the beginning of a relative path is
 * kept.
 */
dt_u64 dt_subr_cleanpath(struct dt_mstate *m)
{
	struct dt_slice a;
	dt_u64 at, used = 0, keep = 0, i = 0;
	dt_u8 *to;

	if (dt_slice_arg(m, 0, &a) != 0)
		return 0;
	at = dt_alloc(m, m->strsize);
	if (!at)
		return 0;
	to = dt_scratch(m, at);
	if (a.len == m->strsize)
		a.len--;
	if (a.len && a.s[0] == '/')
		to[used++] = '/', keep = 1;
	while (i < a.len) {
		dt_u64 from = i, n;
		int slash, up;

		while (i < a.len && a.s[i] == '/')
			i++;
		slash = i > from;
		for (from = i; i < a.len && a.s[i] != '/';)
			i++;
		n = i - from;
		if (n == 1 && a.s[from] == '.' && slash && i < a.len)
			continue;
		up = n == 2 && a.s[from] == '.' && a.s[from + 1] == '.';
		if (up && used == 1 && to[0] == '.')
			used = 0, slash = 0;
		if (up && used > keep) {
			used = dt_up(to, used, keep, i == a.len);
			continue;
		}
		if (up && keep && to[0] == '/')
			continue;
		if (!n && !used)
			to[used++] = '.';
		if (slash && used && to[used - 1] != '/')
			to[used++] = '/';
		dt_copy(to + used, a.s + from, n);
		used += n;
		if (up)
			keep = used;
	}
	to[used] = 0;
	return at;
}
