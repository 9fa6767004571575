// SPDX-License-Identifier: MIT
// outlived ROUNDS creates a child that shares its memory, and executes itself as
// "after". The child calls work() ROUNDS times before and ROUNDS times after the exec.
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile long n_done;
static long rounds;
static int to_parent[2], to_child[2];

__attribute__((noinline)) long work(long n)
{
    n_done += 1;
    return n * 3;
}

static int live_on(void *arg)
{
    char byte = 0;
    long right = 0;
    (void)arg;
    for (long i = 0; i < rounds; ++i)
        right += work(i) == 3 * i;
    (void)!write(to_parent[1], &byte, 1);
    (void)!read(to_child[0], &byte, 1); // waits for the new program
    for (long i = 0; i < rounds; ++i)
        right += work(i) == 3 * i;
    return right == 2 * rounds ? 3 : 4;
}

// Runs in the new program. argv contains the numbers of the inherited descriptors.
static int after_exec(char **argv)
{
    int status = 0;
    char byte = 0;
    (void)!write(atoi(argv[1]), &byte, 1);
    if (waitpid(atoi(argv[2]), &status, __WALL) < 0 || !WIFEXITED(status)) {
        printf("ended by signal %d\n", WTERMSIG(status));
        return 1;
    }
    printf("status %d\n", WEXITSTATUS(status));
    return 0;
}

int main(int argc, char **argv)
{
    static char stack[65536] __attribute__((aligned(16)));
    char pipe_to[16], child[16], byte;
    if (strcmp(argv[0], "after") == 0)
        return after_exec(argv);
    rounds = argc > 1 ? atol(argv[1]) : 100;
    if (pipe(to_parent) != 0 || pipe(to_child) != 0)
        return 2;
    snprintf(child, sizeof child, "%d",
             clone(live_on, stack + sizeof stack, CLONE_VM | SIGCHLD, NULL));
    snprintf(pipe_to, sizeof pipe_to, "%d", to_child[1]);
    (void)!read(to_parent[0], &byte, 1);
    execl("/proc/self/exe", "after", pipe_to, child, (char *)NULL);
    return 2;
}
