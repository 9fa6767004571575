/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Finds one string, the needle, in another in linear time.
 *
 * A needle of up to 32 bytes is compared at each position. A longer needle uses
 * the two-way algorithm (Crochemore and Perrin, "Two-way string-matching",
 * 1991), which needs no additional memory. It splits the needle into a left and
 * a right part, and compares the right part first. To find the last occurrence,
 * it reads both strings backwards.
 *
 * Other threads may change the bytes during the search. The search still
 * terminates and stays within the strings. Every step moves forward, and no
 * index depends on the value of a byte.
 */
#include "dif/find.h"

#include "dif/mem.h"

#define DT_SHORT_NEEDLE 32

/*
 * A slice whose bytes are read in ascending order, or in descending order if
 * `reversed` is set.
 */
struct dt_reader {
	const dt_u8 *s;
	dt_u64 len;
	int reversed;
};

DT_INLINE dt_u8 dt_byte(const struct dt_reader *r, dt_u64 i)
{
	return r->s[r->reversed ? r->len - 1 - i : i];
}

/*
 * Returns the index at which the lexicographically greatest suffix begins, and
 * sets *period to the period of that suffix. If `order` is 1, the comparison of
 * bytes is reversed.
 */
static dt_u64 dt_greatest_suffix(const struct dt_reader *b, int order,
				 dt_u64 *period)
{
	dt_u64 start = 0, next = 1, same = 0, p = 1;

	while (next + same < b->len) {
		dt_u8 x = dt_byte(b, start + same), y = dt_byte(b, next + same);

		if (x == y) {
			if (++same == p) {
				next += p;
				same = 0;
			}
		} else if ((y < x) != order) {
			next += same + 1;
			same = 0;
			p = next - start;
		} else {
			start = next++;
			same = 0;
			p = 1;
		}
	}
	*period = p;
	return start;
}

/*
 * Returns the index at which the right part of the needle begins, and sets
 * *period to the period of that part.
 */
static dt_u64 dt_critical(const struct dt_reader *b, dt_u64 *period)
{
	dt_u64 p0, p1, at0 = dt_greatest_suffix(b, 0, &p0);
	dt_u64 at1 = dt_greatest_suffix(b, 1, &p1);

	*period = at0 > at1 ? p0 : p1;
	return at0 > at1 ? at0 : at1;
}

/*
 * Returns whether the left part of the needle, which ends at `cut`, is repeated
 * one period later. If it is, the entire needle has this period.
 */
static int dt_is_periodic(const struct dt_reader *b, dt_u64 cut, dt_u64 period)
{
	for (dt_u64 i = 0; i < cut; i++)
		if (dt_byte(b, i) != dt_byte(b, i + period))
			return 0;
	return 1;
}

static dt_u64 dt_two_way(const struct dt_reader *a, const struct dt_reader *b)
{
	dt_u64 period, known = 0, at = 0, i;
	dt_u64 cut = dt_critical(b, &period);
	int periodic = dt_is_periodic(b, cut, period);

	if (!periodic)
		period = (cut > b->len - cut ? cut : b->len - cut) + 1;
	while (at + b->len <= a->len) {
		/*
		 * The previous comparison has shown that the first `known`
		 * bytes of the needle match at this position.
		 */
		i = cut > known ? cut : known;
		while (i < b->len && dt_byte(b, i) == dt_byte(a, at + i))
			i++;
		if (i < b->len) {
			at += i - cut + 1;
			known = 0;
			continue;
		}
		i = cut;
		while (i > known && dt_byte(b, i - 1) == dt_byte(a, at + i - 1))
			i--;
		if (i <= known)
			return at;
		at += period;
		known = periodic ? b->len - period : 0;
	}
	return DT_NOT_FOUND;
}

dt_u64 dt_find(const struct dt_slice *a, const struct dt_slice *b, dt_u64 from)
{
	struct dt_reader in = {a->s, a->len, 0};
	struct dt_reader of = {b->s, b->len, 0};
	dt_u64 at;

	if (from > a->len || b->len > a->len - from)
		return DT_NOT_FOUND;
	if (b->len <= DT_SHORT_NEEDLE) {
		for (at = from; at <= a->len - b->len; at++)
			if (dt_same(a->s + at, b->s, b->len))
				return at;
		return DT_NOT_FOUND;
	}
	in.s += from;
	in.len -= from;
	at = dt_two_way(&in, &of);
	return at == DT_NOT_FOUND ? at : from + at;
}

dt_u64 dt_find_last(const struct dt_slice *a, const struct dt_slice *b,
		    dt_u64 from)
{
	struct dt_reader in = {a->s, 0, 1};
	struct dt_reader of = {b->s, b->len, 1};
	dt_u64 at;

	if (b->len > a->len)
		return DT_NOT_FOUND;
	if (from > a->len - b->len)
		from = a->len - b->len;
	if (b->len <= DT_SHORT_NEEDLE) {
		for (at = from + 1; at-- > 0;)
			if (dt_same(a->s + at, b->s, b->len))
				return at;
		return DT_NOT_FOUND;
	}
	in.len = from + b->len;
	at = dt_two_way(&in, &of);
	return at == DT_NOT_FOUND ? at : in.len - b->len - at;
}
