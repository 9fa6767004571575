/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The data of a probe of the ip, tcp or udp provider: a packet, a socket, or both. Each
 * argument of the probe is the address of this structure. The translators in
 * libdtrace/providers/kernel/net.d, tcp.d and udp.d give each argument its D type.
 *
 * If there is no packet, the addresses and ports are those of the socket.
 */
#ifndef KMOD_PACKET_H
#define KMOD_PACKET_H

#include "dif/types.h"

struct dtk_packet {
	dt_u64 skb, sk, ip, transport, device; /* addresses; 0: not available */
	/* IP addresses; IPv4 uses the first four bytes */
	dt_u8 from[16], to[16];
	dt_u16 from_port, to_port;	       /* in host byte order */
	dt_u32 version;			       /* 4 or 6 */
	/* bytes after the IP header */
	dt_u32 payload_bytes;
	dt_u32 state, old_state;	       /* the kernel's TCP_* */
	/* TCP flags, if transport is 0; otherwise the TCP header contains them */
	dt_u32 flags;
	/* 1: this machine is `to`; 0: this machine is `from` */
	dt_u32 received;
	dt_u32 hz; /* the kernel's HZ (jiffies per second) */
};

/*
 * The maximum number of arguments of a probe. A dt_choose function (abi/stable.h)
 * writes the packet after the space for these arguments.
 */
#define DTK_PACKET_ARGS 6

#endif
