/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Stable providers: probes that mean the same on every kernel, by rows of what they are made
 * from on this one.
 *
 *   X(provider, probe, how, source, choose)
 *
 *   how     TRACEPOINT  a tracepoint's arguments come in
 *           FUNCTION    a function's six first arguments, at its entry
 *           RETURNS     a function's value, then its first argument, at its return
 *   source  its name; of functions also those with the compiler's endings (NAME.isra.0)
 *   choose  a function of stable_*.c: from what comes in to the probe's arguments
 *
 * A probe may have several rows: they are all its places. What a kernel does not have is not
 * one of them, and a probe without any does not exist there. libdtrace expands the same rows,
 * for the names; the types of the arguments are in libdtrace/providers/kernel.
 */
#ifndef KMOD_STABLE_H
#define KMOD_STABLE_H

/* clang-format off */
#define DTK_STABLE_PROC(X) \
	X("proc", "create",         TRACEPOINT, "sched_process_fork", proc_create) \
	X("proc", "exec",           TRACEPOINT, "sys_enter",          proc_exec) \
	X("proc", "exec-failure",   TRACEPOINT, "sys_exit",           proc_exec_failure) \
	X("proc", "exec-success",   TRACEPOINT, "sched_process_exec", always) \
	X("proc", "exit",           TRACEPOINT, "sched_process_exit", proc_exit) \
	X("proc", "fault",          TRACEPOINT, "signal_generate",    proc_fault) \
	X("proc", "lwp-create",     TRACEPOINT, "sched_process_fork", proc_lwp_create) \
	X("proc", "lwp-exit",       TRACEPOINT, "sched_process_exit", always) \
	X("proc", "lwp-start",      FUNCTION,   "schedule_tail",      always) \
	X("proc", "signal-clear",   TRACEPOINT, "sys_exit",           proc_signal_clear) \
	X("proc", "signal-discard", TRACEPOINT, "signal_generate",    proc_signal_discard) \
	X("proc", "signal-handle",  TRACEPOINT, "signal_deliver",     proc_signal_handle) \
	X("proc", "signal-send",    TRACEPOINT, "signal_generate",    proc_signal_send) \
	X("proc", "start",          FUNCTION,   "schedule_tail",      proc_start)

#define DTK_STABLE_SCHED(X) \
	X("sched", "change-pri",    TRACEPOINT, "sched_pi_setprio",   sched_lend_pri) \
	X("sched", "change-pri",    FUNCTION,   "set_user_nice",      sched_nice) \
	X("sched", "dequeue",       FUNCTION,   "dequeue_task_dl",    sched_queue) \
	X("sched", "dequeue",       FUNCTION,   "dequeue_task_fair",  sched_queue) \
	X("sched", "dequeue",       FUNCTION,   "dequeue_task_rt",    sched_queue) \
	X("sched", "enqueue",       FUNCTION,   "enqueue_task_dl",    sched_queue) \
	X("sched", "enqueue",       FUNCTION,   "enqueue_task_fair",  sched_queue) \
	X("sched", "enqueue",       FUNCTION,   "enqueue_task_rt",    sched_queue) \
	X("sched", "off-cpu",       TRACEPOINT, "sched_switch",       sched_off_cpu) \
	X("sched", "on-cpu",        FUNCTION,   "finish_task_switch", always) \
	X("sched", "preempt",       TRACEPOINT, "sched_switch",       sched_preempt) \
	X("sched", "sleep",         TRACEPOINT, "sched_switch",       sched_sleep) \
	X("sched", "surrender",     FUNCTION,   "do_sched_yield",     sched_self) \
	X("sched", "tick",          FUNCTION,   "sched_tick",         sched_self) \
	X("sched", "tick",          FUNCTION,   "scheduler_tick",     sched_self) \
	X("sched", "wakeup",        TRACEPOINT, "sched_wakeup",       sched_wakeup) \
	X("sched", "wakeup",        TRACEPOINT, "sched_wakeup_new",   sched_wakeup)

#define DTK_STABLE_IO(X) \
	X("io", "done",             TRACEPOINT, "block_bio_complete", io_done) \
	X("io", "start",            TRACEPOINT, "block_bio_queue",    io_start) \
	X("io", "wait-done",        RETURNS,    "submit_bio_wait",    io_wait_done) \
	X("io", "wait-start",       FUNCTION,   "submit_bio_wait",    io_start)

#define DTK_STABLE_NET(X) \
	X("ip", "receive",              FUNCTION,   "ip6_input",           ip_receive) \
	X("ip", "receive",              FUNCTION,   "ip_local_deliver",    ip_receive) \
	X("ip", "send",                 FUNCTION,   "ip6_output",          ip_send) \
	X("ip", "send",                 FUNCTION,   "ip_mc_output",        ip_send) \
	X("ip", "send",                 FUNCTION,   "ip_output",           ip_send) \
	X("tcp", "accept-established",  TRACEPOINT, "inet_sock_set_state", tcp_accept_established) \
	X("tcp", "accept-refused",      FUNCTION,   "tcp_v4_send_reset",   tcp_accept_refused) \
	X("tcp", "accept-refused",      FUNCTION,   "tcp_v6_send_reset",   tcp_accept_refused) \
	X("tcp", "connect-established", FUNCTION,   "tcp_finish_connect",  tcp_connect_established) \
	X("tcp", "connect-refused",     FUNCTION,   "tcp_reset",           tcp_connect_refused) \
	X("tcp", "connect-request",     FUNCTION,   "__ip_local_out",      tcp_connect_request) \
	X("tcp", "connect-request",     FUNCTION,   "ip6_output",          tcp_connect_request) \
	X("tcp", "receive",             FUNCTION,   "tcp_check_req",       tcp_receive_request) \
	X("tcp", "receive",             FUNCTION,   "tcp_timewait_state_process", tcp_receive) \
	X("tcp", "receive",             FUNCTION,   "tcp_v4_do_rcv",       tcp_receive) \
	X("tcp", "receive",             FUNCTION,   "tcp_v4_send_reset",   tcp_receive_unclaimed) \
	X("tcp", "receive",             FUNCTION,   "tcp_v6_do_rcv",       tcp_receive6) \
	X("tcp", "receive",             FUNCTION,   "tcp_v6_send_reset",   tcp_receive_unclaimed) \
	X("tcp", "send",                FUNCTION,   "__ip_local_out",      tcp_send) \
	X("tcp", "send",                FUNCTION,   "ip6_output",          tcp_send) \
	X("tcp", "state-change",        TRACEPOINT, "inet_sock_set_state", tcp_state_change) \
	X("udp", "receive",             FUNCTION,   "__udp_enqueue_schedule_skb", udp_receive) \
	X("udp", "send",                FUNCTION,   "__ip_local_out",      udp_send) \
	X("udp", "send",                FUNCTION,   "ip6_output",          udp_send)

#define DTK_STABLE(X) \
	DTK_STABLE_PROC(X) \
	DTK_STABLE_SCHED(X) \
	DTK_STABLE_IO(X) \
	DTK_STABLE_NET(X)
/* clang-format on */

enum dtk_stable_how {
	DTK_STABLE_TRACEPOINT,
	DTK_STABLE_FUNCTION,
	DTK_STABLE_RETURNS,
};

#ifdef __KERNEL__

#include <linux/types.h>

#define DT_STABLE_ARGS 24

/*
 * From what the source passes to the probe's arguments: how many they are, or -1: it does
 * not fire. In any context. Behind the arguments there is room for what they point to.
 */
typedef int dt_choose(const u64 *in, u64 *out);

struct dt_stable {
	const char *provider, *probe;
	enum dtk_stable_how how;
	const char *source;
	dt_choose *choose;
};

extern const struct dt_stable dt_stables[];
extern const u32 dt_n_stables;

/* One place of one stable probe. */
struct dt_place_of_stable {
	struct dt_place_of_stable *next; /* at the same function */
	const struct dt_stable *row;
	u32 probe;
};

/* Declares a dt_choose; each row has one. */
#define X(provider, probe, how, source, choose) dt_choose dt_choose_##choose;
DTK_STABLE(X)
#undef X

#endif

#endif
