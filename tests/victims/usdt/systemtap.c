/* SPDX-License-Identifier: MIT */
/*
 * Uses only SystemTap's <sys/sdt.h>. Prints what a tracer should print.
 */
#define _SDT_HAS_SEMAPHORES 1
#define SDT_USE_VARIADIC
#include <sys/sdt.h>
#include <stdio.h>
#include <stdlib.h>

#define OLD_QUERY_START_ENABLED() __builtin_expect(old_query__start_semaphore, 0)
#ifdef __cplusplus
#define OLD_DECLARED extern "C"
#else
#define OLD_DECLARED __extension__ extern
#endif
OLD_DECLARED unsigned short old_query__start_semaphore
	__attribute__((unused)) __attribute__((section(".probes")));
#define OLD_QUERY_START(arg1, arg2) DTRACE_PROBE2(old, query__start, arg1, arg2)

#define OLD_SEMAPHORE(name)                                                    \
	OLD_DECLARED unsigned short old_##name##_semaphore;                    \
	unsigned short old_##name##_semaphore __attribute__((section(".probes")))
#define OLD_USED(name)                                                         \
	OLD_DECLARED unsigned short old_##name##_semaphore;                    \
	unsigned short old_##name##_semaphore __attribute__((used, section(".probes")))
OLD_SEMAPHORE(query__start);
OLD_SEMAPHORE(zero);
OLD_SEMAPHORE(one);
OLD_SEMAPHORE(twelve);
OLD_SEMAPHORE(any);
/* Compilers do not parse asm statements, so semaphores in them need the attribute "used". */
OLD_USED(in_asm);
OLD_USED(at_operands);

static __attribute__((noinline)) void work(const char *text, long i)
{
	if (OLD_QUERY_START_ENABLED()) {
		OLD_QUERY_START(text, i);
		printf("query-start %s %ld\n", text, i);
	}
	STAP_PROBE(old, zero);
	printf("zero\n");
	STAP_PROBE1(old, one, (char)-i);
	printf("one %ld\n", -i);
	STAP_PROBE12(old, twelve, i, i + 1, i + 2, i + 3, i + 4, i + 5, i + 6, i + 7, i + 8, i + 9,
		     11, 12);
	printf("twelve %ld %ld %ld\n", i, i + 8, i + 9);
	STAP_PROBEV(old, any, text, i);
	printf("any %s %ld\n", text, i);
#ifndef __cplusplus /* SystemTap's macro is for C only */
	__asm__ __volatile__("mov $77, %%eax\n\t" STAP_PROBE_ASM(old, in_asm, -4@%%eax 8@$5)
			     : : : "eax");
	printf("in_asm 77 5\n");
	int out = 0;
	__asm__ __volatile__("mov $1, %0\n\t"
			     STAP_PROBE_ASM(old, at_operands, STAP_PROBE_ASM_TEMPLATE(2))
			     : "=&r"(out)
			     : STAP_PROBE_ASM_OPERANDS(2, i, 1234));
	printf("at_operands %ld %d\n", i, 1233 + out);
#endif
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 3, i;

	for (i = 1; i <= n; i++)
		work("select", i);
	return 0;
}
