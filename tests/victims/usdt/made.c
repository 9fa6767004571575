/* SPDX-License-Identifier: MIT */
/*
 * Creates probes at run time, and executes the commands on its stdin. The output of
 * `fire` is what a tracer should print.
 *
 *   made [early] [denied]    early: creates the probes before main();
 *                            denied: memfd_create(2) fails
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dtrace/usdt.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum sign { minus = -1, plus = 1 };

/* clang-format off */
#define PROBES(X)                                                              \
	X(none,       NULL,    "none",       NULL)                             \
	X(small,      "fire",  "small",      "int8_t uint8_t int16_t, uint16_t, int32_t") \
	X(wide,       "fire",  "wide-ones",  "int64_t uint64_t uint32_t pointer") \
	X(floating,   "fire",  "floating",   "double\tdouble")                 \
	X(texts,      "tell",  "texts",      "string string")                  \
	X(twelve,     "tell",  "twelve",     "int64_t int64_t int64_t int64_t int64_t int64_t " \
	                                     "int64_t int64_t int64_t int64_t int64_t int64_t")
/* clang-format on */

#define X(id, function, name, types) static const struct dtrace_usdt_probe *id;
PROBES(X)
#undef X

static struct dtrace_usdt_provider *provider;
static int counter = 42;

static void expect(int failed, const char *doing)
{
	if (failed) {
		printf("%s: %s\n", doing, dtrace_usdt_error());
		fflush(stdout);
		exit(1);
	}
}

static void make(void)
{
	provider = dtrace_usdt_create("made", NULL);
	expect(provider == NULL, "create");
#define X(id, function, name, types) \
	expect(dtrace_usdt_add(provider, function, name, types, &id), "add");
	PROBES(X)
#undef X
	expect(dtrace_usdt_load(provider), "load");
}

static unsigned long long bits(double value)
{
	unsigned long long word;

	memcpy(&word, &value, sizeof word);
	return word;
}

static void fire(long n)
{
	char text[32];

	for (long i = 0; i < n; i++) {
		snprintf(text, sizeof text, "text %ld", i);
		DTRACE_USDT_FIRE(none);
		DTRACE_USDT_FIRE(small, (signed char)-i, (unsigned char)(200 + i), (short)(-300 - i),
				 (unsigned short)(60000 + i), i % 2 ? minus : plus);
		DTRACE_USDT_FIRE(wide, -i - 5000000000L, ~0ULL - (unsigned long long)i,
				 4000000000u + (unsigned)i, &counter);
		DTRACE_USDT_FIRE(floating, (double)i + 0.5, (float)i + 0.25f);
		DTRACE_USDT_FIRE(texts, text, "literal");
		DTRACE_USDT_FIRE(twelve, i, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
		if (dtrace_usdt_enabled(small))
			printf("none\nsmall %d %d %d %d %d\nwide %ld %lu %u %d\n"
			       "floating %016llx %016llx\ntexts %s literal\n"
			       "twelve %ld 1 2 3 4 5 6 7 8 9\n",
			       (signed char)-i, (unsigned char)(200 + i), (short)(-300 - i),
			       (unsigned short)(60000 + i), i % 2 ? minus : plus,
			       -i - 5000000000L, ~0UL - (unsigned long)i,
			       4000000000u + (unsigned)i, counter, bits((double)i + 0.5),
			       bits((float)i + 0.25f), text, i);
	}
}

static void count(long n)
{
	long n_enabled = 0;

	for (long i = 0; i < n; i++) {
		n_enabled += dtrace_usdt_enabled(none);
		DTRACE_USDT_FIRE(none);
	}
	printf("enabled %ld times\n", n_enabled);
}

static void in_child(long n)
{
	pid_t child = fork();

	if (child == 0) {
		count(n);
		fflush(stdout);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

static void *fire_in_thread(void *n)
{
	for (long i = 0; i < (long)(intptr_t)n; i++)
		DTRACE_USDT_FIRE(none);
	return NULL;
}

static void in_threads(long n)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, fire_in_thread, (void *)(intptr_t)n);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

static int storming;

static void *storm(void *unused)
{
	long n = 0;

	(void)unused;
	for (; __atomic_load_n(&storming, __ATOMIC_RELAXED); n++)
		DTRACE_USDT_FIRE(small, 1, 2, 3, 4, (int)n);
	return (void *)(intptr_t)n;
}

static void *churn(void *unused)
{
	const struct dtrace_usdt_probe *hit;
	long n = 0;

	(void)unused;
	for (; __atomic_load_n(&storming, __ATOMIC_RELAXED); n++) {
		struct dtrace_usdt_provider *own = dtrace_usdt_create("churn", NULL);

		expect(dtrace_usdt_add(own, "f", "hit", "int64_t", &hit), "add");
		expect(dtrace_usdt_load(own), "load");
		for (int i = 0; i < 1000; i++)
			DTRACE_USDT_FIRE(hit, n);
		dtrace_usdt_destroy(own);
		DTRACE_USDT_FIRE(hit, n);
	}
	return (void *)(intptr_t)n;
}

/* Runs `run` in n_threads threads until the next line is read. */
static void until_line(long n_threads, void *(*run)(void *))
{
	pthread_t threads[16];
	void *n = NULL;
	char line[80];

	storming = 1;
	for (long i = 0; i < n_threads; i++)
		pthread_create(&threads[i], NULL, run, NULL);
	printf("storming\n");
	fflush(stdout);
	if (!fgets(line, sizeof line, stdin))
		exit(1);
	__atomic_store_n(&storming, 0, __ATOMIC_RELAXED);
	for (long i = 0; i < n_threads; i++) {
		pthread_join(threads[i], &n);
		if (n == NULL)
			printf("a thread fired nothing\n");
	}
}

static void in_storm(long n_threads)
{
	until_line(n_threads, storm);
}

static void in_churn(long n_threads)
{
	until_line(n_threads, churn);
}

/*
 * Creates a provider with n probes, and loads it after half of the probes and at the
 * end.
 */
static void many(long n)
{
	const struct dtrace_usdt_probe **probes =
	    (const struct dtrace_usdt_probe **)calloc((size_t)n, sizeof *probes);
	struct dtrace_usdt_provider *crowd = dtrace_usdt_create("crowd", "crowd.so.1");
	char function[32];

	for (long i = 0; i < n; i++) {
		snprintf(function, sizeof function, "f%ld", i);
		expect(dtrace_usdt_add(crowd, function, "each", "int32_t", &probes[i]), "add");
		if (i == n / 2)
			expect(dtrace_usdt_load(crowd), "load");
	}
	expect(dtrace_usdt_load(crowd), "load");
	printf("made %ld\n", n);
	fflush(stdout);
	if (getchar() == EOF)
		exit(1);
	for (long i = 0; i < n; i++)
		DTRACE_USDT_FIRE(probes[i], i);
	dtrace_usdt_destroy(crowd);
	for (long i = 0; i < n; i++)
		if (dtrace_usdt_enabled(probes[i]))
			printf("still enabled\n");
	free(probes);
}

static void twins(long n)
{
	const char *modules[] = {"left", "left", "right"};
	const struct dtrace_usdt_probe *probes[3];
	struct dtrace_usdt_provider *providers[3];

	for (int i = 0; i < 3; i++) {
		providers[i] = dtrace_usdt_create("twin", modules[i]);
		expect(dtrace_usdt_add(providers[i], "f", "hit", "int32_t", &probes[i]), "add");
		expect(dtrace_usdt_load(providers[i]), "load");
	}
	printf("made twins\n");
	fflush(stdout);
	if (getchar() == EOF)
		exit(1);
	for (long i = 0; i < n; i++)
		for (int k = 0; k < 3; k++)
			DTRACE_USDT_FIRE(probes[k], k);
	for (int k = 0; k < 3; k++)
		dtrace_usdt_destroy(providers[k]);
}

static void semaphores(long unused)
{
	(void)unused;
	printf("semaphores");
#define X(id, ...) printf(" %d", id->n_tracers);
	PROBES(X)
#undef X
	printf("\n");
}

static void destroy(long unused)
{
	(void)unused;
	dtrace_usdt_destroy(provider);
	provider = NULL;
}

static void again(long unused)
{
	(void)unused;
	make();
}

static void close_descriptors(long unused)
{
	(void)unused;
	for (int fd = 3; fd < 256; fd++)
		close(fd);
}

static void deny_files_of_memory(void)
{
	struct sock_filter filter[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
		printf("no seccomp: %s\n", strerror(errno));
		exit(2);
	}
}

__attribute__((constructor)) static void begin(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "denied") == 0)
			deny_files_of_memory();
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "early") == 0)
			make();
}

int main(void)
{
	static const struct {
		const char *name;
		void (*run)(long n);
	} commands[] = {
	    {"fire", fire},	    {"count", count},	{"fork", in_child},
	    {"threads", in_threads}, {"storm", in_storm}, {"many", many},
	    {"churn", in_churn},
	    {"twins", twins},	    {"destroy", destroy}, {"again", again},
	    {"semaphores", semaphores}, {"close", close_descriptors},
	};
	char line[80], name[40];
	long n;

	if (!provider)
		make();
	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		n = 0;
		if (sscanf(line, "%39s %ld", name, &n) < 1)
			continue;
		for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
			if (strcmp(commands[i].name, name) == 0)
				commands[i].run(n);
		printf("done\n");
		fflush(stdout);
	}
	return 0;
}
