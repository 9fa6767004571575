/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Memory functions for code without a libc: copies, unaligned accesses and
 * atomic accesses.
 *
 * dt_once32() and dt_once64() read memory that another process may change at
 * the same time. They do exactly one load, so the value cannot change after the
 * caller has checked it.
 */
#ifndef DIF_MEM_H
#define DIF_MEM_H

#include "dif/types.h"

#define DT_INLINE static inline __attribute__((always_inline))
#define DT_NULL ((void *)0)
#define DT_LIKELY(x) __builtin_expect(!!(x), 1)
#define DT_UNLIKELY(x) __builtin_expect(!!(x), 0)

struct dt_unaligned64 {
	dt_u64 v;
} __attribute__((packed, may_alias));
struct dt_unaligned32 {
	dt_u32 v;
} __attribute__((packed, may_alias));
struct dt_unaligned16 {
	dt_u16 v;
} __attribute__((packed, may_alias));

DT_INLINE dt_u64 dt_get64(const void *at)
{
	return ((const struct dt_unaligned64 *)at)->v;
}

DT_INLINE void dt_put64(void *at, dt_u64 v)
{
	((struct dt_unaligned64 *)at)->v = v;
}

/* Returns an unsigned integer of 1, 2, 4 or 8 bytes, extended with zeros. */
static inline dt_u64 dt_get_uint(const void *at, dt_u32 bytes)
{
	switch (bytes) {
	case 1:
		return *(const dt_u8 *)at;
	case 2:
		return ((const struct dt_unaligned16 *)at)->v;
	case 4:
		return ((const struct dt_unaligned32 *)at)->v;
	default:
		return dt_get64(at);
	}
}

static inline void dt_put_uint(void *at, dt_u64 v, dt_u32 bytes)
{
	switch (bytes) {
	case 1:
		*(dt_u8 *)at = (dt_u8)v;
		break;
	case 2:
		((struct dt_unaligned16 *)at)->v = (dt_u16)v;
		break;
	case 4:
		((struct dt_unaligned32 *)at)->v = (dt_u32)v;
		break;
	default:
		dt_put64(at, v);
	}
}

static inline void dt_copy(void *to, const void *from, dt_u64 bytes)
{
	dt_u8 *t = to;
	const dt_u8 *f = from;

	for (; bytes >= 8; bytes -= 8, t += 8, f += 8)
		dt_put64(t, dt_get64(f));
	for (; bytes; bytes--)
		*t++ = *f++;
}

/* Copies like dt_copy(), but the two regions may overlap. */
static inline void dt_move(void *to, const void *from, dt_u64 bytes)
{
	dt_u8 *t = to;
	const dt_u8 *f = from;

	if (t <= f || t >= f + bytes) {
		dt_copy(to, from, bytes);
		return;
	}
	while (bytes--)
		t[bytes] = f[bytes];
}

static inline void dt_zero(void *at, dt_u64 bytes)
{
	dt_u8 *p = at;

	for (; bytes >= 8; bytes -= 8, p += 8)
		dt_put64(p, 0);
	for (; bytes; bytes--)
		*p++ = 0;
}

static inline int dt_same(const void *a, const void *b, dt_u64 bytes)
{
	const dt_u8 *x = a, *y = b;

	for (; bytes >= 8; bytes -= 8, x += 8, y += 8) {
		if (dt_get64(x) != dt_get64(y))
			return 0;
	}
	for (; bytes; bytes--) {
		if (*x++ != *y++)
			return 0;
	}
	return 1;
}

/*
 * Returns the length of a string. Reads at most max bytes, and returns max if
 * none of them is a NUL.
 */
static inline dt_u64 dt_strnlen(const void *s, dt_u64 max)
{
	const dt_u64 ones = 0x0101010101010101ull;
	const dt_u8 *p = s;
	dt_u64 n = 0;

	for (; max - n >= 8; n += 8) {
		dt_u64 w = dt_get64(p + n);
		dt_u64 nuls = (w - ones) & ~w & ones << 7;

		if (nuls) /* the lowest nonzero byte marks the first NUL */
			return n + ((dt_u64)__builtin_ctzll(nuls) >> 3);
	}
	while (n < max && p[n])
		n++;
	return n;
}

static inline int dt_streq(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

DT_INLINE dt_u64 dt_once64(const dt_u64 *at)
{
	return __atomic_load_n(at, __ATOMIC_RELAXED);
}

DT_INLINE dt_u32 dt_once32(const dt_u32 *at)
{
	return __atomic_load_n(at, __ATOMIC_RELAXED);
}

DT_INLINE dt_u32 dt_acquire32(const dt_u32 *at)
{
	return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}

DT_INLINE void dt_release32(dt_u32 *at, dt_u32 v)
{
	__atomic_store_n(at, v, __ATOMIC_RELEASE);
}

DT_INLINE void dt_release64(dt_u64 *at, dt_u64 v)
{
	__atomic_store_n(at, v, __ATOMIC_RELEASE);
}

DT_INLINE int dt_cas32(dt_u32 *at, dt_u32 from, dt_u32 to)
{
	return __atomic_compare_exchange_n(at, &from, to, 0, __ATOMIC_SEQ_CST,
					   __ATOMIC_RELAXED);
}

DT_INLINE int dt_cas64(dt_u64 *at, dt_u64 from, dt_u64 to)
{
	return __atomic_compare_exchange_n(at, &from, to, 0, __ATOMIC_SEQ_CST,
					   __ATOMIC_RELAXED);
}

DT_INLINE void dt_count(dt_u64 *at)
{
	__atomic_fetch_add(at, 1, __ATOMIC_RELAXED);
}

DT_INLINE void dt_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#else
	__asm__ __volatile__("" ::: "memory");
#endif
}

#endif
