// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Implements the ip, tcp and udp probes, which fire for packets and for changes
 * of a connection's state.
 *
 * The send probes of tcp and udp fire after IP has added its header to the
 * segment. A segment is the data that TCP and IP pass to each other. A device
 * may split a segment into several packets.
 *
 * The receive probes of tcp and udp fire when the kernel has found the socket
 * for the segment. For TCP, this may be a connection request or a socket in
 * TIME_WAIT. tcp:::receive also fires if there is no socket and the kernel
 * answers with a reset.
 */
#include "abi/packet.h"
#include "abi/stable.h"

#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/skbuff.h>
#include <linux/string.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <net/dst.h>
#include <net/inet_connection_sock.h>
#include <net/inet_sock.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include <net/tcp.h>

static_assert(sizeof(struct dtk_packet) == 104);
static_assert(sizeof(struct dtk_packet) <= 8 * (DT_STABLE_ARGS - DTK_PACKET_ARGS));

enum dt_way { DT_SENT, DT_RECEIVED };

static struct dtk_packet *dt_packet(u64 *out)
{
	struct dtk_packet *p = (void *)&out[DTK_PACKET_ARGS];
	int i;

	memset(p, 0, sizeof(*p));
	p->hz = HZ;
	for (i = 0; i < DTK_PACKET_ARGS; i++)
		out[i] = (u64)p;
	return p;
}

static void dt_packet_turn(struct dtk_packet *p)
{
	swap(p->from_port, p->to_port);
	swap(*(struct in6_addr *)p->from, *(struct in6_addr *)p->to);
}

/*
 * Stores the addresses, ports and state of a socket. @sk may also be a
 * connection request or a socket in TIME_WAIT. Only members of struct
 * sock_common may be read before sk_fullsock() is checked.
 */
static void dt_packet_of_socket(struct dtk_packet *p, const struct sock *sk, enum dt_way way)
{
	p->version = sk->sk_family == AF_INET6 ? 6 : 4;
	p->from_port = sk->sk_num;
	p->to_port = ntohs(sk->sk_dport);
	p->state = READ_ONCE(sk->sk_state);
#if IS_ENABLED(CONFIG_IPV6)
	if (p->version == 6 && ipv6_addr_v4mapped(&sk->sk_v6_daddr))
		p->version = 4;
	if (p->version == 6) {
		memcpy(p->from, &sk->sk_v6_rcv_saddr, sizeof(p->from));
		memcpy(p->to, &sk->sk_v6_daddr, sizeof(p->to));
	}
#endif
	if (p->version == 4) {
		memcpy(p->from, &sk->sk_rcv_saddr, 4);
		memcpy(p->to, &sk->sk_daddr, 4);
	}
	/* sk may be the raw socket through which TCP sends some replies */
	if (sk_fullsock(sk) && sk->sk_type != SOCK_RAW) {
		p->sk = (u64)sk;
		/*
		 * unlike sk_num, inet_sport keeps its value when sk is unbound
		 */
		p->from_port = ntohs(inet_sk(sk)->inet_sport);
	}
	p->received = way == DT_RECEIVED;
	if (p->received)
		dt_packet_turn(p);
}

static bool dt_is_linear(const struct sk_buff *skb, const void *header, size_t bytes)
{
	return (u8 *)header >= skb->head && (u8 *)header + bytes <= skb_tail_pointer(skb);
}

/*
 * Stores the source, the destination and the payload size of an IP packet.
 * Returns the data after the IP header, or NULL if the header is not in the
 * linear part of @skb.
 */
static const void *dt_packet_of_ip(struct dtk_packet *p, const struct sk_buff *skb)
{
	const struct iphdr *ip = (void *)skb_network_header(skb);
	const struct ipv6hdr *ip6 = (void *)ip;
	const u8 *end;

	p->skb = (u64)skb;
	p->device = (u64)skb->dev;
	if (!dt_is_linear(skb, ip, sizeof(*ip)))
		return NULL;
	if (ip->version == 6) {
		if (!dt_is_linear(skb, ip6, sizeof(*ip6)))
			return NULL;
		memcpy(p->from, &ip6->saddr, sizeof(p->from));
		memcpy(p->to, &ip6->daddr, sizeof(p->to));
		end = (u8 *)(ip6 + 1);
	} else {
		memset(p->from, 0, sizeof(p->from));
		memset(p->to, 0, sizeof(p->to));
		memcpy(p->from, &ip->saddr, 4);
		memcpy(p->to, &ip->daddr, 4);
		end = (u8 *)ip + 4 * ip->ihl;
	}
	p->ip = (u64)ip;
	p->version = ip->version;
	p->payload_bytes = (u32)((long)skb->len - (end - skb->data));
	return end;
}

/*
 * Stores the ports of the TCP or UDP header. Returns the header, or NULL if its
 * first @bytes bytes are not available.
 */
static const void *dt_packet_of_segment(struct dtk_packet *p, const struct sk_buff *skb,
					size_t bytes)
{
	const struct udphdr *ports;

	if (!dt_packet_of_ip(p, skb) || !skb_transport_header_was_set(skb))
		return NULL;
	ports = (void *)skb_transport_header(skb);
	if (!dt_is_linear(skb, ports, bytes))
		return NULL;
	p->from_port = ntohs(ports->source);
	p->to_port = ntohs(ports->dest);
	p->transport = (u64)ports;
	return ports;
}

static int dt_protocol(const struct sk_buff *skb)
{
	const struct iphdr *ip = (void *)skb_network_header(skb);

	return ip->version == 6 ? ipv6_hdr(skb)->nexthdr : ip->protocol;
}

/* @in: arguments of __ip_local_out(net, sk, skb) or ip6_output(net, sk, skb) */
static const void *dt_sent(const u64 *in, u64 *out, int protocol, size_t header_bytes)
{
	const struct sock *sk = (void *)in[1];
	const struct sk_buff *skb = (void *)in[2];
	struct dtk_packet *p = dt_packet(out);

	if (!sk || dt_protocol(skb) != protocol)
		return NULL;
	dt_packet_of_socket(p, sk, DT_SENT);
	return dt_packet_of_segment(p, skb, header_bytes);
}

int dt_choose_tcp_send(const u64 *in, u64 *out)
{
	return dt_sent(in, out, IPPROTO_TCP, sizeof(struct tcphdr)) ? 5 : -1;
}

int dt_choose_udp_send(const u64 *in, u64 *out)
{
	return dt_sent(in, out, IPPROTO_UDP, sizeof(struct udphdr)) ? 5 : -1;
}

/* Fires for the first SYN that a socket sends, but not when it is resent. */
int dt_choose_tcp_connect_request(const u64 *in, u64 *out)
{
	const struct tcphdr *tcp = dt_sent(in, out, IPPROTO_TCP, sizeof(*tcp));
	const struct sock *sk = (void *)in[1];

	if (!tcp || !tcp->syn || tcp->ack || !sk_fullsock(sk) ||
	    sk->sk_state != TCP_SYN_SENT || inet_csk(sk)->icsk_retransmits)
		return -1;
	return 5;
}

static int dt_received(const struct sock *sk, const struct sk_buff *skb, u64 *out,
		       size_t header_bytes)
{
	struct dtk_packet *p = dt_packet(out);

	dt_packet_of_socket(p, sk, DT_RECEIVED);
	if (skb)
		dt_packet_of_segment(p, skb, header_bytes);
	return 5;
}

/* @in: arguments of tcp_v4_do_rcv(sk, skb) */
int dt_choose_tcp_receive(const u64 *in, u64 *out)
{
	return dt_received((void *)in[0], (void *)in[1], out, sizeof(struct tcphdr));
}

/*
 * @in: arguments of tcp_v6_do_rcv(sk, skb), which passes IPv4 segments to
 * tcp_v4_do_rcv(). For IPv4, the probe fires in tcp_v4_do_rcv().
 */
int dt_choose_tcp_receive6(const u64 *in, u64 *out)
{
	const struct sk_buff *skb = (void *)in[1];

	return skb->protocol == htons(ETH_P_IP) ? -1 : dt_choose_tcp_receive(in, out);
}

/*
 * @in: result and arguments of tcp_check_req(listener, skb, request, fastopen,
 * &stolen). With TCP Fast Open, the segment has already been reported. If
 * *stolen is set, the segment will be reported for another socket.
 */
int dt_choose_tcp_receive_request(const u64 *in, u64 *out)
{
	if ((u8)in[4] || READ_ONCE(*(bool *)in[5]))
		return -1;
	return dt_choose_tcp_receive(in + 1, out);
}

/*
 * @in: result and arguments of tcp_timewait_state_process(timewait, skb). A SYN
 * that starts a new connection is reported later, for the listener. If the
 * listener is closed, the SYN is not reported.
 */
int dt_choose_tcp_receive_late(const u64 *in, u64 *out)
{
	return (u32)in[0] == TCP_TW_SYN ? -1 : dt_choose_tcp_receive(in + 1, out);
}

/*
 * @in: arguments of tcp_v4_send_reset(sk, skb, ...). sk is NULL if no socket
 * was found for the segment.
 */
int dt_choose_tcp_receive_unclaimed(const u64 *in, u64 *out)
{
	struct dtk_packet *p = dt_packet(out);

	if (in[0] || !dt_packet_of_segment(p, (void *)in[1], sizeof(struct tcphdr)))
		return -1;
	p->state = TCP_CLOSE;
	p->received = 1;
	return 5;
}

/*
 * @in: arguments of tcp_finish_connect(sk, skb). The state of sk has not
 * changed yet.
 */
int dt_choose_tcp_connect_established(const u64 *in, u64 *out)
{
	struct dtk_packet *p = (void *)&out[DTK_PACKET_ARGS];
	int n = dt_choose_tcp_receive(in, out);

	p->state = TCP_ESTABLISHED;
	return n;
}

/* @in: arguments of tcp_reset(sk, skb) */
int dt_choose_tcp_connect_refused(const u64 *in, u64 *out)
{
	const struct sock *sk = (void *)in[0];

	return sk->sk_state == TCP_SYN_SENT ? dt_choose_tcp_receive(in, out) : -1;
}

/*
 * @in: arguments of tcp_v4_send_reset(sk or NULL, skb). The probe's packet is
 * the reset, which does not exist yet.
 */
int dt_choose_tcp_accept_refused(const u64 *in, u64 *out)
{
	struct dtk_packet *p = dt_packet(out);
	const struct tcphdr *tcp = dt_packet_of_segment(p, (void *)in[1], sizeof(*tcp));

	if (!tcp || !tcp->syn || tcp->ack)
		return -1;
	dt_packet_turn(p);
	p->ip = p->transport = 0;
	p->payload_bytes = sizeof(*tcp);
	p->flags = TCPHDR_RST | TCPHDR_ACK;
	p->state = TCP_CLOSE;
	return 5;
}

/* @in: arguments of the tracepoint inet_sock_set_state(sk, old, new) */
static int dt_state(const u64 *in, u64 *out, enum dt_way way)
{
	const struct sock *sk = (void *)in[0];
	struct dtk_packet *p = dt_packet(out);

	if (sk->sk_protocol != IPPROTO_TCP)
		return -1;
	dt_packet_of_socket(p, sk, way);
	p->old_state = (u32)in[1];
	p->state = (u32)in[2];
	return 6;
}

int dt_choose_tcp_state_change(const u64 *in, u64 *out)
{
	return dt_state(in, out, DT_SENT);
}

int dt_choose_tcp_accept_established(const u64 *in, u64 *out)
{
	if ((int)in[1] != TCP_SYN_RECV || (int)in[2] != TCP_ESTABLISHED)
		return -1;
	return dt_state(in, out, DT_RECEIVED) < 0 ? -1 : 5;
}

/* @in: arguments of __udp_enqueue_schedule_skb(sk, skb) */
int dt_choose_udp_receive(const u64 *in, u64 *out)
{
	return dt_received((void *)in[0], (void *)in[1], out, sizeof(struct udphdr));
}

static int dt_ip(const struct sk_buff *skb, const struct net_device *device, u64 *out)
{
	struct dtk_packet *p = dt_packet(out);

	if (!dt_packet_of_ip(p, skb))
		return -1;
	p->device = (u64)device;
	if (skb->sk && sk_fullsock(skb->sk))
		p->sk = (u64)skb->sk;
	return 6;
}

/* @in: arguments of ip_output(net, sk, skb), ip_mc_output() or ip6_output() */
int dt_choose_ip_send(const u64 *in, u64 *out)
{
	const struct sk_buff *skb = (void *)in[2];

	return dt_ip(skb, skb_dst(skb)->dev, out);
}

/* @in: arguments of ip_local_deliver(skb) or ip6_input(skb) */
int dt_choose_ip_receive(const u64 *in, u64 *out)
{
	const struct sk_buff *skb = (void *)in[0];

	return dt_ip(skb, skb->dev, out);
}
