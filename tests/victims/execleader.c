// SPDX-License-Identifier: MIT
// execleader ROUNDS executes itself ROUNDS times. A second thread calls execv() while
// the leader calls work().
#define _DEFAULT_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile long sink;
static char** args;

__attribute__((noinline)) long work(long n)
{
    sink += n;
    return n;
}

static void* become(void* arg)
{
    // The exec interrupts the leader at a different moment in each round.
    usleep((useconds_t)(getpid() + atoi(args[1])) * 7919 % 3000);
    execv("/proc/self/exe", args);
    perror("execv");
    exit(3);
    return arg;
}

int main(int argc, char** argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 0;
    static char left[32];
    pthread_t thread;
    if (rounds == 0) {
        puts("done");
        return 7;
    }
    snprintf(left, sizeof left, "%ld", rounds - 1);
    args = argv;
    args[1] = left;
    pthread_create(&thread, NULL, become, NULL);
    for (;;)
        work(1);
}
