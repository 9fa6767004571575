/* SPDX-License-Identifier: MIT */
/*
 * What providers and probes of programs may be called, for all that make them: dtrace/usdt.hpp,
 * libdtrace-usdt, and dtrace's compiler for -h and -G.
 *
 * D has 63 bytes for a provider with the pid behind it, so that a provider does not end in a
 * digit, and 63 for a probe's name, in which a note has __ for -.
 */
#ifndef DTRACE_USDT_NAMES_H
#define DTRACE_USDT_NAMES_H

#define DTRACE_USDT_MAX_PROVIDER_BYTES 55 /* the pid has 7, and one is spare */
#define DTRACE_USDT_MAX_NAME_BYTES 63	  /* as in the note */

/*
 * Names that DTrace's own providers have: pid1234 and profile1234 are for these, or could be,
 * and a program's probes of the name would not be found.
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
