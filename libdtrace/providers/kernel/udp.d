/* SPDX-License-Identifier: MIT */
/* The udp provider: datagrams. */
#pragma D depends_on library net.d
#pragma D attributes Evolving/Evolving/ISA translator

typedef struct udpsinfo {
	uintptr_t udps_addr;
	uint16_t udps_lport;
	uint16_t udps_rport;
	string udps_laddr;
	string udps_raddr;
} udpsinfo_t;

typedef struct udpinfo {
	uint16_t udp_sport;
	uint16_t udp_dport;
	uint16_t udp_length;
	uint16_t udp_checksum;
	uintptr_t udp_hdr;
} udpinfo_t;

translator udpsinfo_t < struct dtk_packet *p > {
	udps_addr = p->sk;
	udps_lport = p->received ? p->to_port : p->from_port;
	udps_rport = p->received ? p->from_port : p->to_port;
	udps_laddr = p->received ? net_to[p] : net_from[p];
	udps_raddr = p->received ? net_from[p] : net_to[p];
};

translator udpinfo_t < struct dtk_packet *p > {
	udp_sport = p->from_port;
	udp_dport = p->to_port;
	udp_length = p->transport ? ntohs(((struct udphdr *)p->transport)->len) : 0;
	udp_checksum = p->transport ? ntohs(((struct udphdr *)p->transport)->check) : 0;
	udp_hdr = p->transport;
};

provider udp {
	probe receive(struct dtk_packet *, struct dtk_packet *, struct dtk_packet *,
	    struct dtk_packet *, struct dtk_packet *) :
	    (pktinfo_t *, csinfo_t *, ipinfo_t *, udpsinfo_t *, udpinfo_t *);
	probe send(struct dtk_packet *, struct dtk_packet *, struct dtk_packet *,
	    struct dtk_packet *, struct dtk_packet *) :
	    (pktinfo_t *, csinfo_t *, ipinfo_t *, udpsinfo_t *, udpinfo_t *);
};
