/* SPDX-License-Identifier: MIT */
/*
 * Fires a probe for every kind of argument, N times, and prints what a tracer should
 * print. With a second argument, a child does the same. If SEMAPHORES is defined, fires
 * only enabled probes, and prints on stderr how often a probe was enabled. With a third
 * argument, it then waits for a byte on stdin and prints three semaphores.
 */
#ifdef SEMAPHORES
#define DTRACE_USE_SEMAPHORES
#endif
#include <dtrace/sdt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef SEMAPHORES
DTRACE_SEMAPHORE(kinds, small);
DTRACE_SEMAPHORE(kinds, wide__ones);
DTRACE_SEMAPHORE(kinds, floating);
DTRACE_SEMAPHORE(kinds, texts);
DTRACE_SEMAPHORE(kinds, twelve);
DTRACE_SEMAPHORE(kinds, none);
#define ENABLED(name) DTRACE_PROBE_ENABLED(kinds, name)
#else
#define ENABLED(name) 1
#endif

enum sign { minus = -1, plus = 1 };

static int counter = 42;
char global[16] = "global";
static unsigned n_enabled;

static uint64_t bits(double value)
{
	uint64_t word;

	memcpy(&word, &value, sizeof(word));
	return word;
}

static __attribute__((noinline)) void fire(int i, const char *text, double d, float f)
{
	char local[8];
	signed char c = (signed char)-i;
	unsigned char uc = (unsigned char)(200 + i % 50);
	short h = (short)(-300 - i);
	unsigned short uh = (unsigned short)(60000 + i);
	long long l = -5000000000ll - i;
	unsigned long ul = ~0ul - (unsigned long)i;
	bool b = i % 2 != 0;
	enum sign s = i % 3 ? minus : plus;

	memcpy(local, "local ", 7);
	local[5] = (char)('a' + i % 26);
	if (ENABLED(none)) {
		DTRACE_PROBE(kinds, none);
		n_enabled++;
		printf("none\n");
	}
	if (ENABLED(small)) {
		DTRACE_PROBE6(kinds, small, c, uc, h, uh, b, s);
		printf("small %d %d %d %d %d %d\n", c, uc, h, uh, b, s);
	}
	if (ENABLED(wide__ones)) {
		DTRACE_PROBE5(kinds, wide__ones, l, ul, i, 7u, &counter);
		printf("wide %lld %lu %d 7 %d\n", l, ul, i, counter);
	}
	if (ENABLED(floating)) {
		DTRACE_PROBE2(kinds, floating, d, f);
		printf("floating %016llx %016llx\n", (unsigned long long)bits(d),
		       (unsigned long long)bits(f));
	}
	if (ENABLED(texts)) {
		DTRACE_PROBE4(kinds, texts, text, local, global, "literal");
		printf("texts %s %s %s literal\n", text, local, global);
	}
	if (ENABLED(twelve)) {
		DTRACE_PROBE12(kinds, twelve, i, i + 1, i + 2, i + 3, i + 4, i + 5, i + 6,
			       i + 7, i + 8, counter, 11, -12);
		printf("twelve %d %d %d %d %d %d %d %d %d %d\n", i, i + 1, i + 2, i + 3,
		       i + 4, i + 5, i + 6, i + 7, i + 8, counter);
	}
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 3, i;

	for (i = 1; i <= n; i++)
		fire(i, "text", i + 0.5, (float)i + 0.25f);
	if (argc > 2) { /* a child does the same number of rounds */
		fflush(stdout);
		pid_t child = fork();
		for (i = 1; child == 0 && i <= n; i++)
			fire(i, "text", i + 0.5, (float)i + 0.25f);
		if (child == 0) {
			fflush(stdout);
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
#ifdef SEMAPHORES
	fprintf(stderr, "enabled %u times\n", n_enabled);
	if (argc > 3) {
		char c;
		(void)!read(0, &c, 1); /* waits until the test writes a byte */
		fprintf(stderr, "semaphores %d %d %d\n", kinds_none_semaphore,
			kinds_small_semaphore, kinds_twelve_semaphore);
	}
#endif
	return 0;
}
