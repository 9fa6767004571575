// SPDX-License-Identifier: MIT
// execer ROUNDS executes itself ROUNDS times, from a thread that is not the leader.
// Each run calls work().
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile long sink;
static char **args;

__attribute__((noinline)) long work(long n)
{
    sink += n;
    return n;
}

static void *spin(void *arg)
{
    for (;;)
        work(1);
    return arg;
}

static void *become(void *arg)
{
    for (long i = 0; i < 100; ++i)
        work(i);
    execv("/proc/self/exe", args);
    perror("execv");
    exit(3);
    return arg;
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 0;
    static char left[32];
    pthread_t thread;
    for (long i = 0; i < 100; ++i)
        work(i);
    if (rounds == 0) {
        puts("done");
        return 7;
    }
    snprintf(left, sizeof left, "%ld", rounds - 1);
    args = argv;
    args[1] = left;
    for (int i = 0; i < 5; ++i)
        pthread_create(&thread, NULL, spin, NULL);
    pthread_create(&thread, NULL, become, NULL);
    pause();
    return 1;
}
