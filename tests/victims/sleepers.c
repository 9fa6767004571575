// SPDX-License-Identifier: MIT
// sleepers N [ROUNDS]: one thread works while N threads sleep. The working thread calls
// step() again and again, and runs ROUNDS rounds of a loop before each call. For each
// byte on stdin, prints the CPU time of the working thread and the elapsed time, in
// nanoseconds.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long work;

static void* sleep_on(void* arg)
{
    for (;;)
        pause();
    return arg;
}

__attribute__((noinline)) unsigned long step(unsigned long n)
{
    return n * 3 + 1;
}

static void* work_on(void* arg)
{
    const long rounds = *(const long*)arg;
    for (;;) {
        for (volatile long i = 0; i < rounds; ++i)
            ;
        work = step(work);
    }
    return arg;
}

static unsigned long long nanoseconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (unsigned long long)t.tv_sec * 1000000000 + (unsigned long long)t.tv_nsec;
}

int main(int argc, char** argv)
{
    static long rounds;
    pthread_t thread;
    pthread_attr_t small;
    clockid_t worker;
    char byte;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 << 10);
    for (int i = argc > 1 ? atoi(argv[1]) : 10; i > 0; --i)
        if (pthread_create(&thread, &small, sleep_on, NULL) != 0)
            return 1;
    rounds = argc > 2 ? atol(argv[2]) : 0;
    pthread_create(&thread, NULL, work_on, &rounds);
    pthread_getcpuclockid(thread, &worker);
    puts("ready");
    fflush(stdout);
    while (read(0, &byte, 1) == 1) {
        printf("%llu %llu\n", nanoseconds(worker), nanoseconds(CLOCK_MONOTONIC));
        fflush(stdout);
    }
    return 0;
}
