// SPDX-License-Identifier: MIT
// rounds N THREADS prints "ready". For each byte that it reads, each thread calls work()
// N times, and then "done" is printed. At the end of the input, it exits.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char text[] = "read where it stands";
static long n_calls, result;
static pthread_barrier_t begin, end;

__attribute__((noinline)) long work(long n, const char *s)
{
	__asm__ volatile("" ::: "memory");
	return n * 3 + s[n % 7];
}

static void *run(void *arg)
{
	for (;;) {
		long sum = 0;

		pthread_barrier_wait(&begin);
		for (long i = 0; i < n_calls; i++)
			sum += work(i, text);
		__atomic_add_fetch(&result, sum, __ATOMIC_RELAXED);
		pthread_barrier_wait(&end);
	}
	return arg;
}

int main(int argc, char **argv)
{
	const unsigned n_threads = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
	pthread_t thread;
	char byte;

	n_calls = argc > 1 ? atol(argv[1]) : 1;
	pthread_barrier_init(&begin, NULL, n_threads + 1);
	pthread_barrier_init(&end, NULL, n_threads + 1);
	for (unsigned i = 0; i < n_threads; i++)
		if (pthread_create(&thread, NULL, run, NULL) != 0)
			return 1;
	puts("ready");
	fflush(stdout);
	while (read(0, &byte, 1) == 1) {
		pthread_barrier_wait(&begin);
		pthread_barrier_wait(&end);
		puts("done");
		fflush(stdout);
	}
	_exit(0);
}
