// SPDX-License-Identifier: MIT
// pacer CALLS RATE: one thread calls work() CALLS times, RATE times a second, at even
// intervals. Prints how many times work() ran.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long n_done;

__attribute__((noinline)) long work(long n)
{
    __atomic_add_fetch(&n_done, 1, __ATOMIC_RELAXED);
    return n + 1;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    long n_calls = atol(argv[1]);
    double rate = atof(argv[2]);
    double began = now();
    for (long i = 0; i < n_calls;) {
        long due = (long)((now() - began) * rate);
        for (; i < due && i < n_calls; ++i)
            work(i);
    }
    printf("calls %ld\n", n_done);
    return 0;
}
