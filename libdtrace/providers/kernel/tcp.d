/* SPDX-License-Identifier: MIT */
/*
 * The tcp provider: segments and connections. For connection requests, and for
 * connections in TIME_WAIT, Linux has only addresses, ports and the state.
 */
#pragma D depends_on library net.d
#pragma D attributes Evolving/Evolving/ISA translator

inline int TCP_STATE_ESTABLISHED = 1;
inline int TCP_STATE_SYN_SENT = 2;
inline int TCP_STATE_SYN_RECEIVED = 3;
inline int TCP_STATE_FIN_WAIT_1 = 4;
inline int TCP_STATE_FIN_WAIT_2 = 5;
inline int TCP_STATE_TIME_WAIT = 6;
inline int TCP_STATE_CLOSED = 7;
inline int TCP_STATE_CLOSE_WAIT = 8;
inline int TCP_STATE_LAST_ACK = 9;
inline int TCP_STATE_LISTEN = 10;
inline int TCP_STATE_CLOSING = 11;
inline int TCP_STATE_NEW_SYN_RECEIVED = 12;

inline string tcp_state_string[int state] =
    state == TCP_STATE_ESTABLISHED ? "state-established" :
    state == TCP_STATE_SYN_SENT ? "state-syn-sent" :
    state == TCP_STATE_SYN_RECEIVED ? "state-syn-received" :
    state == TCP_STATE_FIN_WAIT_1 ? "state-fin-wait-1" :
    state == TCP_STATE_FIN_WAIT_2 ? "state-fin-wait-2" :
    state == TCP_STATE_TIME_WAIT ? "state-time-wait" :
    state == TCP_STATE_CLOSED ? "state-closed" :
    state == TCP_STATE_CLOSE_WAIT ? "state-close-wait" :
    state == TCP_STATE_LAST_ACK ? "state-last-ack" :
    state == TCP_STATE_LISTEN ? "state-listen" :
    state == TCP_STATE_CLOSING ? "state-closing" :
    state == TCP_STATE_NEW_SYN_RECEIVED ? "state-new-syn-received" : "<unknown>";

inline uint8_t TH_FIN = 0x01;
inline uint8_t TH_SYN = 0x02;
inline uint8_t TH_RST = 0x04;
inline uint8_t TH_PUSH = 0x08;
inline uint8_t TH_ACK = 0x10;
inline uint8_t TH_URG = 0x20;
inline uint8_t TH_ECE = 0x40;
inline uint8_t TH_CWR = 0x80;

typedef struct tcpinfo {
	uint16_t tcp_sport;
	uint16_t tcp_dport;
	uint32_t tcp_seq;
	uint32_t tcp_ack;
	uint8_t tcp_offset;
	uint8_t tcp_flags;
	uint16_t tcp_window;
	uint16_t tcp_checksum;
	uint16_t tcp_urgent;
	uintptr_t tcp_hdr;
} tcpinfo_t;

typedef struct tcpsinfo {
	uintptr_t tcps_addr;
	int tcps_local;
	uint16_t tcps_lport;
	uint16_t tcps_rport;
	string tcps_laddr;
	string tcps_raddr;
	int32_t tcps_state;
	uint32_t tcps_suna;
	uint32_t tcps_snxt;
	uint32_t tcps_rnxt;
	uint32_t tcps_swnd;
	int32_t tcps_snd_ws;
	uint32_t tcps_rwnd;
	int32_t tcps_rcv_ws;
	uint32_t tcps_cwnd;
	uint32_t tcps_cwnd_ssthresh;
	uint32_t tcps_rto;
	uint32_t tcps_mss;
	uint32_t tcps_srtt;
	int tcps_retransmit;
} tcpsinfo_t;

typedef struct tcplsinfo {
	int32_t tcps_state;
} tcplsinfo_t;

/* If a connection is refused, the probe fires before the header of the reply exists. */
translator tcpinfo_t < struct dtk_packet *p > {
	tcp_sport = p->from_port;
	tcp_dport = p->to_port;
	tcp_seq = p->transport ? ntohl(((struct tcphdr *)p->transport)->seq) : 0;
	tcp_ack = p->transport ? ntohl(((struct tcphdr *)p->transport)->ack_seq) : 0;
	tcp_offset = p->transport ? 4 * ((struct tcphdr *)p->transport)->doff : 0;
	tcp_flags = p->transport ? *(uint8_t *)(p->transport + 13) : p->flags;
	tcp_window = p->transport ? ntohs(((struct tcphdr *)p->transport)->window) : 0;
	tcp_checksum = p->transport ? ntohs(((struct tcphdr *)p->transport)->check) : 0;
	tcp_urgent = p->transport ? ntohs(((struct tcphdr *)p->transport)->urg_ptr) : 0;
	tcp_hdr = p->transport;
};

/* The congestion window is in segments, srtt is in microseconds, and rto is in milliseconds. */
translator tcpsinfo_t < struct dtk_packet *p > {
	tcps_addr = p->sk;
	tcps_local = net_from[p] == net_to[p];
	tcps_lport = p->received ? p->to_port : p->from_port;
	tcps_rport = p->received ? p->from_port : p->to_port;
	tcps_laddr = p->received ? net_to[p] : net_from[p];
	tcps_raddr = p->received ? net_from[p] : net_to[p];
	tcps_state = p->state;
	tcps_suna = p->sk ? ((struct tcp_sock *)p->sk)->snd_una : 0;
	tcps_snxt = p->sk ? ((struct tcp_sock *)p->sk)->snd_nxt : 0;
	tcps_rnxt = p->sk ? ((struct tcp_sock *)p->sk)->rcv_nxt : 0;
	tcps_swnd = p->sk ? ((struct tcp_sock *)p->sk)->snd_wnd : 0;
	tcps_snd_ws = p->sk ? ((struct tcp_sock *)p->sk)->rx_opt.snd_wscale : 0;
	tcps_rwnd = p->sk ? ((struct tcp_sock *)p->sk)->rcv_wnd : 0;
	tcps_rcv_ws = p->sk ? ((struct tcp_sock *)p->sk)->rx_opt.rcv_wscale : 0;
	tcps_cwnd = p->sk ? ((struct tcp_sock *)p->sk)->snd_cwnd : 0;
	tcps_cwnd_ssthresh = p->sk ? ((struct tcp_sock *)p->sk)->snd_ssthresh : 0;
	tcps_rto = p->sk ? ((struct inet_connection_sock *)p->sk)->icsk_rto * 1000 / p->hz : 0;
	tcps_mss = p->sk ? ((struct tcp_sock *)p->sk)->mss_cache : 0;
	tcps_srtt = p->sk ? ((struct tcp_sock *)p->sk)->srtt_us >> 3 : 0;
	tcps_retransmit = p->sk ? ((struct inet_connection_sock *)p->sk)->icsk_retransmits : 0;
};

translator tcplsinfo_t < struct dtk_packet *p > {
	tcps_state = p->old_state;
};

provider tcp {
	probe accept-established(struct dtk_packet *, struct dtk_packet *, struct dtk_packet *,
	    struct dtk_packet *, struct dtk_packet *) :
	    (pktinfo_t *, csinfo_t *, ipinfo_t *, tcpsinfo_t *, tcpinfo_t *);
	probe accept-refused(struct dtk_packet *, struct dtk_packet *, struct dtk_packet *,
	    struct dtk_packet *, struct dtk_packet *) :
	    (pktinfo_t *, csinfo_t *, ipinfo_t *, tcpsinfo_t *, tcpinfo_t *);
	probe connect-established(struct dtk_packet *, struct dtk_packet *, struct dtk_packet *,
	    struct dtk_packet *, struct dtk_packet *) :
	    (pktinfo_t *, csinfo_t *, ipinfo_t *, tcpsinfo_t *, tcpinfo_t *);
	probe connect-refused(struct dtk_packet *, struct dtk_packet *, struct dtk_packet *,
	    struct dtk_packet *, struct dtk_packet *) :
	    (pktinfo_t *, csinfo_t *, ipinfo_t *, tcpsinfo_t *, tcpinfo_t *);
	probe connect-request(struct dtk_packet *, struct dtk_packet *, struct dtk_packet *,
	    struct dtk_packet *, struct dtk_packet *) :
	    (pktinfo_t *, csinfo_t *, ipinfo_t *, tcpsinfo_t *, tcpinfo_t *);
	probe receive(struct dtk_packet *, struct dtk_packet *, struct dtk_packet *,
	    struct dtk_packet *, struct dtk_packet *) :
	    (pktinfo_t *, csinfo_t *, ipinfo_t *, tcpsinfo_t *, tcpinfo_t *);
	probe send(struct dtk_packet *, struct dtk_packet *, struct dtk_packet *,
	    struct dtk_packet *, struct dtk_packet *) :
	    (pktinfo_t *, csinfo_t *, ipinfo_t *, tcpsinfo_t *, tcpinfo_t *);
	probe state-change(struct dtk_packet *, struct dtk_packet *, struct dtk_packet *,
	    struct dtk_packet *, struct dtk_packet *, struct dtk_packet *) :
	    (void *, csinfo_t *, void *, tcpsinfo_t *, void *, tcplsinfo_t *);
};
