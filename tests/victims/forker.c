// SPDX-License-Identifier: MIT
// Forks N children, and calls work() before each fork. Each child calls work() a
// hundred times, and reports success with its exit status.
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile long sink;

__attribute__((noinline)) long work(long n)
{
    sink += n;
    return n * 3;
}

int main(int argc, char **argv)
{
    long n_children = argc > 1 ? atol(argv[1]) : 20;
    long good = 0;
    for (long i = 0; i < n_children; ++i) {
        work(i);
        pid_t child = fork();
        if (child == 0) {
            long sum = 0;
            for (long j = 0; j < 100; ++j)
                sum += work(j);
            _exit(sum == 3 * 4950 ? 42 : 1);
        }
        int status = 0;
        waitpid(child, &status, 0);
        good += WIFEXITED(status) && WEXITSTATUS(status) == 42;
    }
    printf("children %ld good %ld\n", n_children, good);
    return good == n_children ? 0 : 1;
}
