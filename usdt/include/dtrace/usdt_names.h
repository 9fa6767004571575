/* SPDX-License-Identifier: MIT */
/*
 * The valid names of providers and probes of programs. Used by dtrace/usdt.hpp,
 * libdtrace-usdt, and dtrace's compiler for -h and -G.
 *
 * D has 63 bytes for a provider followed by the pid, so a provider must not end
 * in a digit. D has 63 bytes for a probe's name, in which a note has __ for -.
 */
#ifndef DTRACE_USDT_NAMES_H
#define DTRACE_USDT_NAMES_H

/* the pid takes up to 7, and one is spare */
#define DTRACE_USDT_MAX_PROVIDER_BYTES 55
#define DTRACE_USDT_MAX_NAME_BYTES 63	  /* as in the note */

/*
 * Names of DTrace's own providers. pid1234 and profile1234 are names of these,
 * or could be, so a program's probes with such a name would not be found.
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
