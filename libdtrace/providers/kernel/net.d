/* SPDX-License-Identifier: MIT */
/*
 * The providers ip, tcp and udp. The native type of all arguments is struct
 * dtk_packet of abi/packet.h, which describes a packet and its socket.
 */
#pragma D attributes Evolving/Evolving/ISA translator

struct dtk_packet {
	uintptr_t skb, sk, ip, transport, device;
	uint8_t from[16], to[16];
	uint16_t from_port, to_port;
	uint32_t version;
	uint32_t payload_bytes;
	uint32_t state, old_state;
	uint32_t flags;
	uint32_t received;
	uint32_t hz;
};

typedef struct pktinfo {
	uintptr_t pkt_addr;
} pktinfo_t;

typedef struct csinfo {
	uintptr_t cs_addr;
	uint64_t cs_cid;
	pid_t cs_pid;
	zoneid_t cs_zoneid;
} csinfo_t;

typedef struct ipinfo {
	uint8_t ip_ver;
	uint32_t ip_plength;
	string ip_saddr;
	string ip_daddr;
} ipinfo_t;

typedef struct ifinfo {
	string if_name;
	int8_t if_local;
	uintptr_t if_ipstack;
	uintptr_t if_addr;
} ifinfo_t;

typedef struct ipv4info {
	uint8_t ipv4_ver;
	uint8_t ipv4_ihl;
	uint8_t ipv4_tos;
	uint16_t ipv4_length;
	uint16_t ipv4_ident;
	uint8_t ipv4_flags;
	uint16_t ipv4_offset;
	uint8_t ipv4_ttl;
	uint8_t ipv4_protocol;
	string ipv4_protostr;
	uint16_t ipv4_checksum;
	ipaddr_t ipv4_src;
	ipaddr_t ipv4_dst;
	string ipv4_saddr;
	string ipv4_daddr;
	uintptr_t ipv4_hdr;
} ipv4info_t;

typedef struct ipv6info {
	uint8_t ipv6_ver;
	uint8_t ipv6_tclass;
	uint32_t ipv6_flow;
	uint16_t ipv6_plen;
	uint8_t ipv6_nexthdr;
	string ipv6_nextstr;
	uint8_t ipv6_hlim;
	uintptr_t ipv6_src;
	uintptr_t ipv6_dst;
	string ipv6_saddr;
	string ipv6_daddr;
	uintptr_t ipv6_hdr;
} ipv6info_t;

inline string net_from[struct dtk_packet *p] = p->version == 6 ?
    inet_ntoa6((struct in6_addr *)p->from) : inet_ntoa((ipaddr_t *)p->from);
inline string net_to[struct dtk_packet *p] = p->version == 6 ?
    inet_ntoa6((struct in6_addr *)p->to) : inet_ntoa((ipaddr_t *)p->to);
inline string net_protocol[int n] = n == 1 ? "ICMP" : n == 2 ? "IGMP" : n == 4 ? "IP" :
    n == 6 ? "TCP" : n == 17 ? "UDP" : n == 41 ? "IPV6" : n == 47 ? "GRE" : n == 50 ? "ESP" :
    n == 51 ? "AH" : n == 58 ? "ICMPV6" : n == 89 ? "OSPF" : n == 132 ? "SCTP" : "<unknown>";

translator pktinfo_t < struct dtk_packet *p > {
	pkt_addr = p->skb;
};

/* Linux does not record which process owns a socket. */
translator csinfo_t < struct dtk_packet *p > {
	cs_addr = p->sk;
	cs_cid = p->sk;
	cs_pid = 0;
	cs_zoneid = 0;
};

translator ipinfo_t < struct dtk_packet *p > {
	ip_ver = p->version;
	ip_plength = p->payload_bytes;
	ip_saddr = net_from[p];
	ip_daddr = net_to[p];
};

translator ifinfo_t < struct dtk_packet *p > {
	if_name = p->device ? stringof(((struct net_device *)p->device)->name) : "<unknown>";
	if_local = p->device && ((struct net_device *)p->device)->flags & 0x8; /* IFF_LOOPBACK */
	if_ipstack = p->device ? (uintptr_t)((struct net_device *)p->device)->nd_net.net : 0;
	if_addr = p->device;
};

inline int net_is_v4[struct dtk_packet *p] = p->version == 4 && p->ip != 0;
inline int net_is_v6[struct dtk_packet *p] = p->version == 6 && p->ip != 0;

translator ipv4info_t < struct dtk_packet *p > {
	ipv4_ver = net_is_v4[p] ? 4 : 0;
	ipv4_ihl = net_is_v4[p] ? 4 * ((struct iphdr *)p->ip)->ihl : 0;
	ipv4_tos = net_is_v4[p] ? ((struct iphdr *)p->ip)->tos : 0;
	ipv4_length = net_is_v4[p] ? ntohs(((struct iphdr *)p->ip)->tot_len) : 0;
	ipv4_ident = net_is_v4[p] ? ntohs(((struct iphdr *)p->ip)->id) : 0;
	ipv4_flags = net_is_v4[p] ? ntohs(((struct iphdr *)p->ip)->frag_off) >> 12 & 0xe : 0;
	ipv4_offset = net_is_v4[p] ? ntohs(((struct iphdr *)p->ip)->frag_off) & 0x1fff : 0;
	ipv4_ttl = net_is_v4[p] ? ((struct iphdr *)p->ip)->ttl : 0;
	ipv4_protocol = net_is_v4[p] ? ((struct iphdr *)p->ip)->protocol : 0;
	ipv4_protostr = net_is_v4[p] ? net_protocol[((struct iphdr *)p->ip)->protocol] : "<null>";
	ipv4_checksum = net_is_v4[p] ? ntohs(((struct iphdr *)p->ip)->check) : 0;
	ipv4_src = net_is_v4[p] ? *(ipaddr_t *)p->from : 0;
	ipv4_dst = net_is_v4[p] ? *(ipaddr_t *)p->to : 0;
	ipv4_saddr = net_is_v4[p] ? net_from[p] : "<null>";
	ipv4_daddr = net_is_v4[p] ? net_to[p] : "<null>";
	ipv4_hdr = net_is_v4[p] ? p->ip : 0;
};

translator ipv6info_t < struct dtk_packet *p > {
	ipv6_ver = net_is_v6[p] ? 6 : 0;
	ipv6_tclass = net_is_v6[p] ? ntohl(*(uint32_t *)p->ip) >> 20 & 0xff : 0;
	ipv6_flow = net_is_v6[p] ? ntohl(*(uint32_t *)p->ip) & 0xfffff : 0;
	ipv6_plen = net_is_v6[p] ? ntohs(((struct ipv6hdr *)p->ip)->payload_len) : 0;
	ipv6_nexthdr = net_is_v6[p] ? ((struct ipv6hdr *)p->ip)->nexthdr : 0;
	ipv6_nextstr = net_is_v6[p] ? net_protocol[((struct ipv6hdr *)p->ip)->nexthdr] : "<null>";
	ipv6_hlim = net_is_v6[p] ? ((struct ipv6hdr *)p->ip)->hop_limit : 0;
	ipv6_src = net_is_v6[p] ? p->ip + 8 : 0;
	ipv6_dst = net_is_v6[p] ? p->ip + 24 : 0;
	ipv6_saddr = net_is_v6[p] ? net_from[p] : "<null>";
	ipv6_daddr = net_is_v6[p] ? net_to[p] : "<null>";
	ipv6_hdr = net_is_v6[p] ? p->ip : 0;
};

provider ip {
	probe receive(struct dtk_packet *, struct dtk_packet *, struct dtk_packet *,
	    struct dtk_packet *, struct dtk_packet *, struct dtk_packet *) :
	    (pktinfo_t *, csinfo_t *, ipinfo_t *, ifinfo_t *, ipv4info_t *, ipv6info_t *);
	probe send(struct dtk_packet *, struct dtk_packet *, struct dtk_packet *,
	    struct dtk_packet *, struct dtk_packet *, struct dtk_packet *) :
	    (pktinfo_t *, csinfo_t *, ipinfo_t *, ifinfo_t *, ipv4info_t *, ipv6info_t *);
};
