// SPDX-License-Identifier: MIT
// self_tracer HOW N [THREADS [MS]] calls work() N times, traces itself, and calls work() N times in the meantime. Then it
// waits until it has a tracer again, if it had one at first, and calls work() N times. It prints "traced" if there was no error, or why it
// failed, then "ours" or "none" for the tracer after the wait. HOW is one of:
//   task   a task with CLONE_UNTRACED that shares the memory attaches, as in LeakSanitizer
//   child  a child that prctl(PR_SET_PTRACER) names attaches
//   gone   the same, but the child exits without attaching
//   other  prctl(PR_SET_PTRACER) names a process that is not a descendant, and no process attaches
//   again  names a child that does not attach, twelve times, and each time waits until it has a tracer again
//   stop   stops after it has named a child, which continues it after four seconds
//   exec   creates a task like that of "task", which keeps the memory for four seconds, and executes
//          "self_tracer other N 0 3000"
// "self_tracer serve N" instead calls leave_early() N times for each byte that it reads, and prints "done" each time.
// THREADS further threads call work() a million times each from the start. MS is the time until it prints the tracer.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
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

/* No jump fits at the return of leave_early() to left(). */
__asm__(".text\n"
	".globl leave_early, left\n"
	".type leave_early, @function\n"
	".type left, @function\n"
	"leave_early:\n"
	".cfi_startproc\n"
	"mov %rdi, %rcx\n"
	"xor %eax, %eax\n"
	"jrcxz left\n"
	"mov $1, %eax\n"
	"ret\n"
	".cfi_endproc\n"
	".size leave_early, . - leave_early\n"
	"left:\n"
	".cfi_startproc\n"
	"mov $2, %eax\n"
	"ret\n"
	".cfi_endproc\n"
	".size left, . - left\n");
extern int leave_early(long n);

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

static void wait_for_tracer(void)
{
	for (int i = 0; !tracer() && i < 1000; i++)
		pause_ms(10);
}

/* A new tracer may not have stopped the program yet. */
static void let_tracer_stop_us(void)
{
	pause_ms(300);
}

static int sleeping_task(void *arg)
{
	pause_ms(4000);
	return arg != NULL;
}

static void exec_beside_task(const char *program, const char *n)
{
	if (clone(sleeping_task, stack + stack_bytes,
		  CLONE_VM | CLONE_FS | CLONE_UNTRACED, NULL) < 0)
		exit(2);
	execl(program, program, "other", n, "0", "3000", (char *)NULL);
	exit(2);
}

static void name_child_again(void)
{
	const pid_t pid = fork();

	if (pid == 0) {
		pause();
		_exit(0);
	}
	for (int i = 0; i < 12; i++) {
		prctl(PR_SET_PTRACER, pid, 0, 0, 0);
		wait_for_tracer();
		let_tracer_stop_us();
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void stop_after_naming_child(void)
{
	const pid_t pid = fork();

	if (pid == 0) {
		pause_ms(4000);
		kill(target, SIGCONT);
		_exit(0);
	}
	prctl(PR_SET_PTRACER, pid, 0, 0, 0);
	puts("stops");
	fflush(stdout);
	raise(SIGSTOP);
	waitpid(pid, NULL, 0);
}

static int serve(long n)
{
	char byte;

	puts("ready");
	fflush(stdout);
	while (read(0, &byte, 1) == 1) {
		for (long i = 0; i < n; i++)
			leave_early(0);
		puts("done");
		fflush(stdout);
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "task";
	const long n = argc > 2 ? atol(argv[2]) : 1000;
	const int n_threads = argc > 3 ? atoi(argv[3]) : 0;
	const int was_traced = tracer() != 0;
	pthread_t threads[max_threads];

	if (!strcmp(how, "serve"))
		return serve(n);
	target = getpid();
	for (int i = 0; i < n_threads && i < max_threads; i++)
		if (pthread_create(&threads[i], NULL, busy, NULL) != 0)
			return 2;
	call(n);
	if (!strcmp(how, "task"))
		trace_by_task(n);
	else if (!strcmp(how, "exec"))
		exec_beside_task(argv[0], argv[2]);
	else if (!strcmp(how, "again"))
		name_child_again();
	else if (!strcmp(how, "stop"))
		stop_after_naming_child();
	else if (!strcmp(how, "other"))
		prctl(PR_SET_PTRACER, 1, 0, 0, 0);
	else
		trace_by_child(n, !strcmp(how, "child"));
	puts(error ? strerror(error) : "traced");
	if (was_traced)
		wait_for_tracer();
	if (argc > 4)
		pause_ms(atol(argv[4]));
	else
		let_tracer_stop_us();
	puts(tracer() ? "ours" : "none");
	call(n);
	for (int i = 0; i < n_threads && i < max_threads; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
