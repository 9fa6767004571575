/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Subroutines for networking: byte order, and addresses as text.
 *
 * In an IPv6 address, the longest run of two or more zero groups is written as
 * "::". If several runs have this length, only the first one is shortened. If
 * an IPv6 address is IPv4-mapped or IPv4-compatible, its last 32 bits are in
 * dotted form.
 */
#include "dif/mstate.h"
#include "dif/text.h"

#define DT_AF_INET 2
#define DT_AF_INET6 10

dt_u64 dt_subr_htons(struct dt_mstate *m)
{
	return __builtin_bswap16((dt_u16)dt_arg(m, 0));
}

dt_u64 dt_subr_htonl(struct dt_mstate *m)
{
	return __builtin_bswap32((dt_u32)dt_arg(m, 0));
}

dt_u64 dt_subr_htonll(struct dt_mstate *m)
{
	return __builtin_bswap64(dt_arg(m, 0));
}

dt_u64 dt_subr_ntohs(struct dt_mstate *m)
{
	return dt_subr_htons(m);
}

dt_u64 dt_subr_ntohl(struct dt_mstate *m)
{
	return dt_subr_htonl(m);
}

dt_u64 dt_subr_ntohll(struct dt_mstate *m)
{
	return dt_subr_htonll(m);
}

static void dt_text_ipv4(struct dt_text *t, const dt_u8 *a)
{
	for (int i = 0; i < 4; i++) {
		if (i)
			dt_text_char(t, '.');
		dt_text_number(t, a[i]);
	}
}

static void dt_text_group(struct dt_text *t, dt_u32 group)
{
	int started = 0;

	for (int shift = 12; shift >= 0; shift -= 4) {
		dt_u32 digit = (group >> shift) & 0xf;

		if (!digit && !started && shift)
			continue;
		started = 1;
		dt_text_char(t, "0123456789abcdef"[digit]);
	}
}

/*
 * Returns the length of the longest run of two or more zero groups and stores
 * its start in *best. If there is no such run, returns 0 and stores -1.
 */
static int dt_zero_run(const dt_u32 *groups, int n, int *best)
{
	int len = 0, run = 0;

	*best = -1;
	for (int i = 0; i < n; i++) {
		run = groups[i] ? 0 : run + 1;
		if (run > len && run > 1) {
			len = run;
			*best = i - run + 1;
		}
	}
	return len;
}

static void dt_text_ipv6(struct dt_text *t, const dt_u8 *a)
{
	dt_u32 groups[8];
	int n = 8, at, len;

	for (int i = 0; i < 8; i++)
		groups[i] = (dt_u32)a[2 * i] << 8 | a[2 * i + 1];
	len = dt_zero_run(groups, 8, &at);
	/* ::ffff:1.2.3.4 and ::1.2.3.4 end in dotted form; :: and ::1 do not */
	if (at == 0 && ((len == 5 && groups[5] == 0xffff) || len == 6))
		n = 6;
	for (int i = 0; i < n; i++) {
		if (i == at) {
			dt_text_put(t, "::");
			i += len - 1;
			continue;
		}
		if (i && i != at + len)
			dt_text_char(t, ':');
		dt_text_group(t, groups[i]);
	}
	if (n == 6) {
		if (len != 6)
			dt_text_char(t, ':');
		dt_text_ipv4(t, a + 12);
	}
}

static dt_u64 dt_inet(struct dt_mstate *m, dt_u32 family, dt_u64 addr)
{
	dt_u8 a[16];
	char text[64];
	struct dt_text t;

	dt_text_start(&t, text, sizeof(text));
	if (family == DT_AF_INET) {
		if (dt_load_bytes(m, addr, a, 4) != 0)
			return 0;
		dt_text_ipv4(&t, a);
	} else {
		if (dt_load_bytes(m, addr, a, 16) != 0)
			return 0;
		dt_text_ipv6(&t, a);
	}
	return dt_new_string(m, text, t.used);
}

dt_u64 dt_subr_inet_ntop(struct dt_mstate *m)
{
	dt_u32 family = (dt_u32)dt_arg(m, 0);

	if (family != DT_AF_INET && family != DT_AF_INET6) {
		dt_fault(m, DTRACEFLT_ILLOP, 0);
		return 0;
	}
	return dt_inet(m, family, dt_arg(m, 1));
}

dt_u64 dt_subr_inet_ntoa(struct dt_mstate *m)
{
	return dt_inet(m, DT_AF_INET, dt_arg(m, 0));
}

dt_u64 dt_subr_inet_ntoa6(struct dt_mstate *m)
{
	return dt_inet(m, DT_AF_INET6, dt_arg(m, 0));
}

static void dt_text_hex_byte(struct dt_text *t, dt_u8 byte)
{
	static const char digits[] = "0123456789abcdef";

	dt_text_char(t, digits[byte >> 4]);
	dt_text_char(t, digits[byte & 15]);
}

/* Hardware types of <linux/if_arp.h>, and the lengths of their addresses. */
#define DT_ARPHRD_ETHER 1
#define DT_ARPHRD_INFINIBAND 32
#define DT_ETHER_BYTES 6
#define DT_INFINIBAND_BYTES 20

dt_u64 dt_subr_link_ntop(struct dt_mstate *m)
{
	dt_u32 kind = (dt_u32)dt_arg(m, 0), n;
	dt_u8 a[DT_INFINIBAND_BYTES];
	char text[3 * sizeof(a)];
	struct dt_text t;

	if (kind != DT_ARPHRD_ETHER && kind != DT_ARPHRD_INFINIBAND) {
		dt_fault(m, DTRACEFLT_ILLOP, 0);
		return 0;
	}
	n = kind == DT_ARPHRD_ETHER ? DT_ETHER_BYTES : DT_INFINIBAND_BYTES;
	if (dt_load_bytes(m, dt_arg(m, 1), a, n) != 0)
		return 0;
	dt_text_start(&t, text, sizeof(text));
	for (dt_u32 i = 0; i < n; i++) {
		if (i)
			dt_text_char(&t, ':');
		dt_text_hex_byte(&t, a[i]);
	}
	return dt_new_string(m, text, t.used);
}
