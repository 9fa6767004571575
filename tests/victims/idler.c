// SPDX-License-Identifier: MIT
// idler N [PLUGIN [PROGRAM]] prints "ready", and then executes one command for each byte that it reads:
//   c  calls work() N times          t  the same, in a new thread
//   f  forks a child that calls work() N times and waits, and prints the child's pid
//   v  creates a child with vfork(2) that calls work() N times
//   x  executes PROGRAM, or itself
//   p  loads PLUGIN and calls its function plugin_work() N times
//   h  handles SIGSEGV           s  begins to handle a timer's signal, which interrupts its threads
//   a  the same as c in four threads at the same time
//   m  allocates memory and loses it
// It prints "done" after each command. At the end of the input, it exits.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static long n_calls, result;
static void *volatile kept;

__attribute__((noinline)) long work(long n)
{
	__asm__ volatile("" ::: "memory");
	return n * 3 + 1;
}

/* The first instructions read memory. */
__attribute__((noinline)) long look(const long *from)
{
	__asm__ volatile("" ::: "memory");
	return *from + 1;
}

__attribute__((noinline)) static long inner(long n)
{
	__asm__ volatile("" ::: "memory");
	return n + 1;
}

/* The second instruction begins at the fifth byte. */
__attribute__((noinline)) long outer(long n)
{
	volatile long kept_here = n;

	return inner(kept_here) + 1;
}

static void *call(void *arg)
{
	long sum = 0;

	for (long i = 0; i < n_calls; i++)
		sum += work(i) + look(&n_calls) + outer(i);
	__atomic_add_fetch(&result, sum, __ATOMIC_RELAXED);
	return arg;
}

static void fork_child(void)
{
	const pid_t child = fork();

	if (child != 0) {
		printf("child %d\n", (int)child);
		return;
	}
	call(NULL);
	pause();
	_exit(0);
}

static void vfork_child(void)
{
	const pid_t child = vfork();

	if (child == 0) {
		call(NULL);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

static void load(const char *path)
{
	void *plugin = dlopen(path, RTLD_NOW);
	long (*plugged)(long) =
		plugin ? (long (*)(long))dlsym(plugin, "plugin_work") : NULL;

	for (long i = 0; plugged && i < n_calls; i++)
		result += plugged(i);
}

static void on_timer(int signal)
{
	__atomic_add_fetch(&result, signal, __ATOMIC_RELAXED);
}

static void start_timer(void)
{
	const struct itimerval often = {{0, 1000}, {0, 1000}};
	struct sigaction action = {.sa_handler = on_timer, .sa_flags = SA_RESTART};

	sigaction(SIGPROF, &action, NULL);
	setitimer(ITIMER_PROF, &often, NULL);
}

static void call_in_all(void)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, call, NULL) != 0)
			abort();
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

static void on_fault(int signal)
{
	_exit(signal);
}

int main(int argc, char **argv)
{
	pthread_t thread;
	char byte;

	n_calls = argc > 1 ? atol(argv[1]) : 1;
	puts("ready");
	fflush(stdout);
	while (read(0, &byte, 1) == 1) {
		if (byte == 'c')
			call(NULL);
		if (byte == 't' && pthread_create(&thread, NULL, call, NULL) == 0)
			pthread_join(thread, NULL);
		if (byte == 'f')
			fork_child();
		if (byte == 'v')
			vfork_child();
		if (byte == 'x')
			execv(argc > 3 ? argv[3] : "/proc/self/exe", argv);
		if (byte == 'p')
			load(argv[2]);
		if (byte == 'h')
			signal(SIGSEGV, on_fault);
		if (byte == 's')
			start_timer();
		if (byte == 'a')
			call_in_all();
		if (byte == 'm') {
			kept = malloc(4321);
			kept = NULL;
		}
		puts("done");
		fflush(stdout);
	}
	return 0;
}
