/* SPDX-License-Identifier: MIT */
/*
 * Additional modes of tests/victims/timed, for bench/static_probes. Each mode does
 * about 5 ns of work. Some modes also have a static probe, or call an empty function.
 */
#define _GNU_SOURCE
#include <dtrace/sdt.h>

#define BODY __attribute__((noinline, noclone, aligned(64)))

static unsigned long words[4];

static inline unsigned long some_work(unsigned long n)
{
	/*
	 * Calls do not depend on the results of earlier calls, so the CPU executes them
	 * in parallel. This halves the time per call.
	 */
	for (int i = 0; i < 7; i++) {
		n *= 0x9e3779b97f4a7c15UL;
		n ^= n >> 29;
		__asm__ volatile("" : "+r"(n));
	}
	return n;
}

/* Does the work and computes the arguments of the probe, but has no probe. */
BODY unsigned long bare(unsigned long n)
{
	unsigned long got = some_work(n);

	__asm__ volatile("" : : "r"(n & 7), "r"(got & 3));
	return got;
}

/* A copy of bare(). The difference between their times is measurement noise. */
BODY unsigned long twin(unsigned long n)
{
	unsigned long got = some_work(n);

	__asm__ volatile("" : : "r"(n & 7), "r"(got & 3));
	return got;
}

BODY unsigned long probed(unsigned long n)
{
	unsigned long got = some_work(n);

	DTRACE_PROBE2(bench, registers, n & 7, got & 3);
	return got;
}

BODY unsigned long probed_memory(unsigned long n)
{
	unsigned long got = some_work(n);

	*(volatile unsigned long *)&words[1] = n & 7;
	*(volatile unsigned long *)&words[2] = got & 3;
	/* Make the compiler read the arguments from memory. */
	__asm__ volatile("" : : : "memory");
	DTRACE_PROBE2(bench, memory, words[1], words[2]);
	return got;
}

BODY unsigned long probed_pointer(unsigned long n)
{
	unsigned long got = some_work(n), *p = words;

	/*
	 * Hide from the compiler that p points to words[]. Then the address of each
	 * argument is relative to a register.
	 */
	__asm__ volatile("" : "+r"(p));
	*(volatile unsigned long *)&p[1] = n & 7;
	*(volatile unsigned long *)&p[2] = got & 3;
	__asm__ volatile("" : : : "memory");
	DTRACE_PROBE2(bench, pointer, p[1], p[2]);
	return got;
}

__attribute__((noinline, noclone)) void nothing(unsigned long n, unsigned long got)
{
	__asm__ volatile("" : : "r"(n), "r"(got));
}

BODY unsigned long calls(unsigned long n)
{
	unsigned long got = some_work(n);

	nothing(n & 7, got & 3);
	return got;
}

#define EXTRA_MODES                                                            \
	{"bare", bare}, {"twin", twin}, {"probed", probed},                    \
	    {"probed_memory", probed_memory},                                  \
	    {"probed_pointer", probed_pointer}, {"calls", calls},
