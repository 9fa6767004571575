/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Calls subroutines, and implements those for memory, processes and numbers.
 */
#include "dif/mstate.h"

#define DT_CALL_ANY(m, name) dt_subr_##name(m)
#define DT_CALL_WRITE(m, name) dt_subr_##name(m)
#define DT_CALL_KERNEL(m, name) dt_subr_of_kernel(m, DIF_SUBR_##name)
#define DT_CALL_NONE(m, name) dt_subr_refused(m)

/* Raises a fault. The verifier refuses every call that would lead here. */
static dt_u64 dt_subr_refused(struct dt_mstate *m)
{
	dt_fault(m, DTRACEFLT_ILLOP, 0);
	return 0;
}

/* Calls the host to run a subroutine that is marked KERNEL in dif/subrs.h. */
static dt_u64 dt_subr_of_kernel(struct dt_mstate *m, dt_u32 subr)
{
	dt_u64 value = 0, bad = 0;

	if (!m->ops->ask)
		return dt_subr_refused(m);
	if (m->ops->ask(m->host, subr, dt_arg(m, 0), &value, &bad))
		dt_fault(m, DTRACEFLT_BADADDR, bad);
	return value;
}

void dt_subr(struct dt_mstate *m, dt_u32 subr, dt_u32 rd)
{
	switch (subr) {
#define X(name, number, prototype, where)                                      \
	case number:                                                           \
		m->r[rd] = DT_CALL_##where(m, name);                           \
		break;
		DIF_SUBRS(X)
#undef X
	default:
		dt_fault(m, DTRACEFLT_ILLOP, 0);
	}
}

/*
 * Uses xorshift64*, which is not cryptographically secure. The state 0 is
 * replaced, because the generator would return 0 forever.
 */
dt_u64 dt_subr_rand(struct dt_mstate *m)
{
	dt_u64 x = m->shard->rand_state;

	if (!x)
		x = 0x9e3779b97f4a7c15ull;
	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	m->shard->rand_state = x;
	return (dt_u32)((x * 0x2545f4914f6cdd1dull) >> 33);
}

dt_u64 dt_subr_alloca(struct dt_mstate *m)
{
	return dt_alloc(m, dt_arg(m, 0));
}

dt_u64 dt_subr_copyin(struct dt_mstate *m)
{
	dt_u64 size = dt_arg(m, 1), at = dt_alloc(m, size);

	if (at)
		dt_load_target(m, dt_arg(m, 0), dt_scratch(m, at), size);
	return at;
}

dt_u64 dt_subr_copyinstr(struct dt_mstate *m)
{
	dt_u64 addr = dt_arg(m, 0), max = m->strsize - 1, bad = addr, at;
	dt_s64 n;

	if (m->n_tuple > 1 && dt_arg(m, 1) < max)
		max = dt_arg(m, 1);
	at = dt_alloc(m, max + 1);
	if (!at)
		return 0;
	if (!m->host->has_target || !m->ops->load_string ||
	    dt_is_dmem(m, addr)) {
		dt_fault(m, DTRACEFLT_BADADDR, addr);
		return 0;
	}
	n = m->ops->load_string(m->host, addr, (char *)dt_scratch(m, at), max,
				&bad);
	if (n < 0 || n > (dt_s64)max) {
		dt_fault(m, DTRACEFLT_BADADDR, bad);
		return 0;
	}
	dt_scratch(m, at)[n] = 0;
	m->scratch_used =
	    DT_ALIGN(at - DT_VBASE - dt_scratch_at(m) + (dt_u64)n + 1, 8);
	return at;
}

dt_u64 dt_subr_copyinto(struct dt_mstate *m)
{
	dt_u64 from = dt_arg(m, 0);

	if (dt_is_dmem(m, from)) /* copyinto() reads only the target's memory */
		dt_fault(m, DTRACEFLT_BADADDR, from);
	else
		dt_dmem_copy(m, dt_arg(m, 2), from, dt_arg(m, 1));
	return 0;
}

dt_u64 dt_subr_bcopy(struct dt_mstate *m)
{
	dt_dmem_copy(m, dt_arg(m, 1), dt_arg(m, 0), dt_arg(m, 2));
	return 0;
}

static void dt_copyout_bytes(struct dt_mstate *m, const void *from, dt_u64 to,
			     dt_u64 size)
{
	dt_u64 bad = to;

	if (!m->host->has_target || !m->ops->store || dt_is_dmem(m, to) ||
	    to + size < to || m->ops->store(m->host, to, from, size, &bad) != 0)
		dt_fault(m, DTRACEFLT_BADADDR, bad);
}

dt_u64 dt_subr_copyout(struct dt_mstate *m)
{
	dt_u64 from = dt_arg(m, 0), size = dt_arg(m, 2), avail;
	const dt_u8 *bytes = dt_dmem(m, from, &avail);

	if (!bytes || size > avail)
		dt_fault(m, DTRACEFLT_BADADDR, from);
	else
		dt_copyout_bytes(m, bytes, dt_arg(m, 1), size);
	return 0;
}

dt_u64 dt_subr_copyoutstr(struct dt_mstate *m)
{
	dt_u64 len, max = dt_arg(m, 2), at;
	const dt_u8 *s = dt_string(m, dt_arg(m, 0), &len);

	if (!s || !max)
		return 0;
	/* If max leaves no space for the terminating NUL, no NUL is written. */
	at = dt_new_string(m, s, len);
	if (at)
		dt_copyout_bytes(m, dt_scratch(m, at), dt_arg(m, 1),
				 len < max ? len + 1 : max);
	return 0;
}

dt_u64 dt_subr_speculation(struct dt_mstate *m)
{
	return dt_speculation(m);
}

dt_u64 dt_subr_progenyof(struct dt_mstate *m)
{
	if (!m->ops->progenyof)
		return 0;
	return m->ops->progenyof(m->host, dt_arg(m, 0)) != 0;
}

/*
 * A Linux device number contains, from bit 0 upwards, the low 8 bits of the
 * minor number, the low 12 bits of the major number, the high 24 bits of the
 * minor number and the high 20 bits of the major number.
 */
dt_u64 dt_subr_getmajor(struct dt_mstate *m)
{
	dt_u64 dev = dt_arg(m, 0);

	return ((dev >> 8) & 0xfff) | ((dev >> 32) & 0xfffff000);
}

dt_u64 dt_subr_getminor(struct dt_mstate *m)
{
	dt_u64 dev = dt_arg(m, 0);

	return (dev & 0xff) | ((dev >> 12) & 0xffffff00);
}

/*
 * Joins the strings in a buffer. Each NUL becomes the character in the second
 * argument. The last byte becomes NUL.
 */
dt_u64 dt_subr_memstr(struct dt_mstate *m)
{
	dt_u64 size = dt_arg(m, 2), at;
	dt_u8 *s;

	if (size > 4096) {
		dt_fault(m, DTRACEFLT_ILLOP, 0);
		return 0;
	}
	if (!size)
		return dt_new_string(m, "", 0);
	at = dt_alloc(m, size);
	if (!at || dt_load_bytes(m, dt_arg(m, 0), dt_scratch(m, at), size) != 0)
		return 0;
	s = dt_scratch(m, at);
	for (dt_u64 i = 0; i + 1 < size; i++) {
		if (!s[i])
			s[i] = (dt_u8)dt_arg(m, 1);
	}
	s[size - 1] = 0;
	return at;
}

static int dt_digit(dt_u8 c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'Z')
		return c - 'A' + 10;
	return 99;
}

/*
 * Formats the number as signed in base 10, and as unsigned in other bases. Base
 * 16 has the prefix 0x, base 8 the prefix 0.
 */
dt_u64 dt_subr_lltostr(struct dt_mstate *m)
{
	dt_u64 v = dt_arg(m, 0), base = m->n_tuple > 1 ? dt_arg(m, 1) : 10;
	dt_u8 text[72], *p = text + sizeof(text);
	int negative = base == 10 && (dt_s64)v < 0;

	if (base < 2 || base > 36) {
		dt_fault(m, DTRACEFLT_ILLOP, 0);
		return 0;
	}
	if (negative)
		v = -v;
	do {
		*--p = (dt_u8) "0123456789abcdefghijklmnopqrstuvwxyz"[v % base];
		v /= base;
	} while (v);
	if (negative)
		*--p = '-';
	if (base == 8 && *p != '0')
		*--p = '0';
	if (base == 16) {
		*--p = 'x';
		*--p = '0';
	}
	return dt_new_string(m, p, (dt_u64)(text + sizeof(text) - p));
}

dt_u64 dt_subr_strtoll(struct dt_mstate *m)
{
	dt_u64 base = m->n_tuple > 1 ? dt_arg(m, 1) : 10, len, at = 0, v = 0;
	const dt_u8 *s = dt_string(m, dt_arg(m, 0), &len);
	int negative;

	if (base < 2 || base > 36)
		dt_fault(m, DTRACEFLT_ILLOP, 0);
	if (m->fault)
		return 0;
	while (at < len && (s[at] == ' ' || (s[at] >= '\t' && s[at] <= '\r')))
		at++;
	negative = at < len && s[at] == '-';
	if (at < len && (s[at] == '-' || s[at] == '+'))
		at++;
	if (base == 16 && len - at > 2 && s[at] == '0' &&
	    (s[at + 1] | 0x20) == 'x' && dt_digit(s[at + 2]) < 16)
		at += 2;
	for (; at < len && dt_digit(s[at]) < (int)base; at++)
		v = v * base + (dt_u64)dt_digit(s[at]);
	return negative ? -v : v;
}
