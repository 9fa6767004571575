// SPDX-License-Identifier: MIT
// self_tracer HOW N [THREADS] calls work() N times, traces itself, and calls work() N times in the meantime. Then it
// waits until it has a tracer again, if it had one at first, and calls work() N times. It prints "traced" or why it
// failed, then "ours" or "none" for the tracer after the wait. HOW is one of:
//   task   a task with CLONE_UNTRACED that shares the memory attaches, as in LeakSanitizer
//   child  a child that prctl(PR_SET_PTRACER) names attaches
//   gone   the same, but the child exits without attaching
//   other  prctl(PR_SET_PTRACER) names a process that is not a descendant, and no process attaches
// THREADS further threads call work() a million times each from the start.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { max_threads = 8, stack_bytes = 1 << 16 };

static char stack[stack_bytes] __attribute__((aligned(16)));
static volatile int may_attach, error, has_attached;
static pid_t target;
static int ready[2], done[2];
static long result;

__attribute__((noinline)) long work(long n)
{
	__asm__ volatile("" ::: "memory");
	return n * 3 + 1;
}

static void call(long n)
{
	for (long i = 0; i < n; i++)
		__atomic_add_fetch(&result, work(i), __ATOMIC_RELAXED);
}

static void *busy(void *arg)
{
	call(1000000);
	return arg;
}

static void pause_ms(long ms)
{
	const struct timespec time = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&time, NULL);
}

static int tracer(void)
{
	char line[256];
	int pid = 0;
	FILE *status = fopen("/proc/self/status", "r");

	while (status && fgets(line, sizeof line, status))
		sscanf(line, "TracerPid: %d", &pid);
	if (status)
		fclose(status);
	return pid;
}

static int attach(void)
{
	int status;

	if (ptrace(PTRACE_ATTACH, target, NULL, NULL) != 0)
		return errno;
	waitpid(target, &status, __WALL);
	ptrace(PTRACE_DETACH, target, NULL, NULL);
	return 0;
}

/* Shares errno with the program, which waits meanwhile. */
static int task(void *arg)
{
	while (!may_attach)
		pause_ms(1);
	error = attach();
	has_attached = 1;
	return arg != NULL;
}

static void trace_by_task(long n)
{
	const pid_t pid = clone(task, stack + stack_bytes,
				CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_UNTRACED,
				NULL);

	call(n);
	may_attach = 1;
	while (pid > 0 && waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
		;
	if (pid < 0 || !has_attached)
		error = pid < 0 ? errno : ECHILD;
}

static void trace_by_child(long n, int attaches)
{
	char byte = 0;
	pid_t pid;
	int code;

	if (pipe(ready) != 0 || pipe(done) != 0)
		exit(2);
	pid = fork();
	if (pid == 0) {
		if (read(ready[0], &byte, 1) != 1)
			_exit(2);
		code = attaches ? attach() : 0;
		_exit(write(done[1], &code, sizeof code) != sizeof code);
	}
	prctl(PR_SET_PTRACER, pid, 0, 0, 0);
	call(n);
	if (write(ready[1], &byte, 1) != 1 ||
	    read(done[0], &code, sizeof code) != sizeof code)
		exit(2);
	error = code;
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "task";
	const long n = argc > 2 ? atol(argv[2]) : 1000;
	const int n_threads = argc > 3 ? atoi(argv[3]) : 0;
	const int was_traced = tracer() != 0;
	pthread_t threads[max_threads];

	target = getpid();
	for (int i = 0; i < n_threads && i < max_threads; i++)
		if (pthread_create(&threads[i], NULL, busy, NULL) != 0)
			return 2;
	call(n);
	if (!strcmp(how, "task"))
		trace_by_task(n);
	else if (!strcmp(how, "other"))
		prctl(PR_SET_PTRACER, 1, 0, 0, 0);
	else
		trace_by_child(n, !strcmp(how, "child"));
	puts(error ? strerror(error) : "traced");
	for (int i = 0; was_traced && !tracer() && i < 1000; i++)
		pause_ms(10);
	pause_ms(300); /* the new tracer may not have stopped the program yet */
	puts(tracer() ? "ours" : "none");
	call(n);
	for (int i = 0; i < n_threads && i < max_threads; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
