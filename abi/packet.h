/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What a probe of ip, tcp and udp knows: of a packet, of the socket, or of both. All of its
 * arguments are the address of this one; libdtrace's translators (libdtrace/providers/kernel/net.d,
 * which declares the same struct) take from it what each of them shows.
 *
 * What there is no packet for is as it would be in one: addresses and ports are the socket's.
 */
#ifndef KMOD_PACKET_H
#define KMOD_PACKET_H

#include "dif/types.h"

struct dtk_packet {
	dt_u64 skb, sk, ip, transport, device; /* addresses, 0: there is none */
	dt_u8 from[16], to[16];		       /* of IPv4 the first four bytes */
	dt_u16 from_port, to_port;	       /* as numbers */
	dt_u32 version;			       /* 4 or 6 */
	dt_u32 payload_bytes;		       /* behind the header of IP */
	dt_u32 state, old_state;	       /* the kernel's TCP_* */
	dt_u32 flags;			       /* TCP's, where transport is 0 */
	dt_u32 received;		       /* to is here, else from */
	dt_u32 hz;			       /* ticks of a second, in which the kernel counts */
};

#define DTK_PACKET_ARGS 6 /* which probes have at most: the packet lies behind them */

#endif
