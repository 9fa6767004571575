/* SPDX-License-Identifier: MIT */
/*
 * Reads numbers from stdin, one per line, and forks that number of children. Each
 * child fires app:::child in greet().
 */
#include <dtrace/sdt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) void greet(int n)
{
	DTRACE_PROBE1(app, child, n);
}

int main(void)
{
	char line[32];

	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		for (int i = 0; i < atoi(line); i++) {
			pid_t child = fork();

			if (child == 0) {
				greet(i);
				_exit(0);
			}
			waitpid(child, NULL, 0);
		}
		printf("served\n");
		fflush(stdout);
	}
	return 0;
}
