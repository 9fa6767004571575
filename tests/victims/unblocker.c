/* SPDX-License-Identifier: MIT */
/*
 * A hostile target. A second process makes all descriptors of the target blocking,
 * again and again. The target prints "ready", calls work() until it reads a line, and
 * prints how often it found a userfaultfd(2).
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

static volatile unsigned long *n_found; /* shared by both processes */
static char stack[65536];

__attribute__((noinline)) int work(int n)
{
	__asm__ volatile("" : : "r"(n) : "memory");
	return n + 1;
}

static int unblock(void *unused)
{
	char path[64], name[64];

	(void)unused;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		for (int fd = 3; fd < 12; fd++) {
			if (fcntl(fd, F_SETFL, 0) != 0)
				continue;
			snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
			memset(name, 0, sizeof name);
			if (readlink(path, name, sizeof name - 1) > 0 &&
			    strstr(name, "userfaultfd"))
				++*n_found;
		}
	}
	return 0;
}

int main(void)
{
	struct pollfd input = {0, POLLIN, 0};
	int n = 0;
	pid_t child;

	n_found = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	child = clone(unblock, stack + sizeof stack, CLONE_FILES | SIGCHLD, 0);
	if (n_found == MAP_FAILED || child < 0)
		return 1;
	puts("ready");
	fflush(stdout);
	while (poll(&input, 1, 5) == 0)
		n = work(n);
	kill(child, SIGKILL);
	printf("%lu\n", *n_found);
	return 0;
}
