// SPDX-License-Identifier: MIT
// spin CALLS THREADS: each thread calls work() CALLS times. Prints how many times
// work() ran, and the sum of the results.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static long n_calls;
static long n_done;

__attribute__((noinline)) long work(long n)
{
    long sum = 0;
    for (long i = 0; i < (n & 7); ++i)
        sum += i * n;
    __atomic_add_fetch(&n_done, 1, __ATOMIC_RELAXED);
    return sum;
}

__attribute__((noinline)) long ten(long a, long b, long c, long d, long e, long f,
                                   long g, long h, long i, long j)
{
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j;
}

__attribute__((noinline)) long outer(long n)
{
    return work(n) + 1;
}

static void *run(void *arg)
{
    long sum = 0;
    for (long i = 0; i < n_calls; ++i)
        sum += outer(i);
    *(long *)arg = sum;
    return NULL;
}

int main(int argc, char **argv)
{
    n_calls = argc > 1 ? atol(argv[1]) : 1000;
    long n_threads = argc > 2 ? atol(argv[2]) : 1;
    pthread_t threads[256];
    long sums[256] = {0};
    long total = 0;

    for (long i = 0; i < n_threads; ++i)
        pthread_create(&threads[i], NULL, run, &sums[i]);
    for (long i = 0; i < n_threads; ++i) {
        pthread_join(threads[i], NULL);
        total += sums[i];
    }
    total += ten(1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
    printf("calls %ld sum %ld\n", n_done, total);
    return 0;
}
