/* SPDX-License-Identifier: MIT */
/*
 * Limits on the names of providers and probes. A provider's name must not end
 * in a digit, because the pid follows it in D. D allows 63 bytes for the name
 * and the pid together, and 63 bytes for a probe's name. In a note, __ replaces
 * each - of a probe's name.
 */
#ifndef DTRACE_USDT_NAMES_H
#define DTRACE_USDT_NAMES_H

/* 63 bytes, minus 7 for the digits of the pid, minus one spare byte */
#define DTRACE_USDT_MAX_PROVIDER_BYTES 55
#define DTRACE_USDT_MAX_NAME_BYTES 63	  /* in the note, where __ replaces each - */

/*
 * DTrace's own providers. Programs must not use these names, with or without a
 * number (pid1234).
 */
/* clang-format off */
#define DTRACE_USDT_KERNEL_PROVIDERS(X)                                        \
	X("fbt") X("sdt") X("syscall") X("proc") X("sched") X("io")            \
	X("vminfo") X("sysinfo") X("lockstat") X("ip") X("tcp") X("udp")       \
	X("mib") X("cpc") X("vfs") X("rawfbt")
#define DTRACE_USDT_OWN_PROVIDERS(X)                                           \
	X("pid") X("dtrace") X("profile") X("tick") X("usdt")                  \
	DTRACE_USDT_KERNEL_PROVIDERS(X)
/* clang-format on */

#endif
