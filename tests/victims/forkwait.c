// SPDX-License-Identifier: MIT
// Forks a child, which prints "child PID" and waits for a byte on stdin. Both processes
// call work().
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile long sink;

__attribute__((noinline)) long work(long n)
{
    sink += n;
    return n * 3;
}

static void call(long n)
{
    for (long i = 0; i < n; ++i)
        work(i);
}

int main(void)
{
    char byte;
    int status = 0;
    call(10);
    pid_t child = fork();
    if (child == 0) {
        printf("child %d\n", getpid());
        fflush(stdout);
        if (read(0, &byte, 1) != 1)
            _exit(1);
        call(1000);
        printf("child sum %ld\n", sink);
        fflush(stdout);
        _exit(sink == 45 + 499500 ? 42 : 1);
    }
    call(10);
    waitpid(child, &status, 0);
    printf("parent sum %ld child %d\n", sink, WEXITSTATUS(status));
    return WIFEXITED(status) && WEXITSTATUS(status) == 42 ? 0 : 1;
}
