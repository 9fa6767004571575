// SPDX-License-Identifier: MIT
// sharer clone|vfork: creates a child that shares its memory (CLONE_VM), and prints
// "ready". The child calls work() a thousand times a second. The parent calls work() for
// each byte on stdin. With vfork, the parent waits for the child in the kernel
// (CLONE_VFORK), and the child makes only 800 calls. Otherwise the child ends with
// stdin. At the end, prints the child's exit status or signal.
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile long n_done;
static volatile int stop;
static int vforks;

__attribute__((noinline)) long work(long n)
{
    n_done += 1;
    return n * 3;
}

// Makes system calls directly, because the child uses the parent's errno.
static int child(void *arg)
{
    const struct timespec pause = {0, 1000000};
    (void)arg;
    syscall(SYS_write, 1, "ready\n", 6);
    for (long i = 0; !stop && (!vforks || i < 800); ++i) {
        if (work(i) != i * 3)
            return 4;
        syscall(SYS_nanosleep, &pause, NULL);
    }
    return 3;
}

int main(int argc, char **argv)
{
    static char stack[65536] __attribute__((aligned(16)));
    char byte;
    int status = 0;
    vforks = argc > 1 && strcmp(argv[1], "vfork") == 0;
    int flags = CLONE_VM | SIGCHLD | (vforks ? CLONE_VFORK : 0);
    int pid = clone(child, stack + sizeof stack, flags, NULL);
    while (read(0, &byte, 1) == 1)
        work(byte);
    stop = 1;
    waitpid(pid, &status, 0);
    if (WIFEXITED(status))
        printf("exited with %d\n", WEXITSTATUS(status));
    else
        printf("killed by signal %d\n", WTERMSIG(status));
    return 0;
}
