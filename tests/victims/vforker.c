// SPDX-License-Identifier: MIT
// vforker ROUNDS: creates children with vfork(), posix_spawn(), and a clone() with
// shared memory. The children of vfork() and clone(), and the parent, call work().
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile long n_done;
extern char **environ;

__attribute__((noinline)) long work(long n)
{
    n_done += 1;
    return n * 3;
}

static int on_own_stack(void *arg)
{
    (void)arg;
    work(7);
    return 3;
}

static pid_t start_by_vfork(char **args)
{
    pid_t child = vfork();
    if (child == 0) {
        work(1);
        execv("/bin/true", args);
        _exit(9);
    }
    return child;
}

static int wait_for(pid_t child)
{
    int status = 0;
    waitpid(child, &status, __WALL);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 20;
    long good = 0;
    char *args[] = {"true", NULL};
    static char stack[65536] __attribute__((aligned(16)));
    for (long i = 0; i < rounds; ++i) {
        pid_t child = start_by_vfork(args);
        good += wait_for(child) == 0;
        if (posix_spawn(&child, "/bin/true", NULL, NULL, args, environ) == 0)
            good += wait_for(child) == 0;
        child = clone(on_own_stack, stack + sizeof stack, CLONE_VM | SIGCHLD, NULL);
        good += wait_for(child) == 3;
        work(i);
    }
    printf("calls %ld good %ld\n", n_done, good);
    return good == 3 * rounds ? 0 : 1;
}
