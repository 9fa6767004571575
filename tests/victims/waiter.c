// SPDX-License-Identifier: MIT
// waiter THREADS [leader-exits]: prints "ready PID", calls work() until its stdin ends,
// and prints the number of calls. With leader-exits, the main thread exits at the
// start.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static volatile int stop;
static long n_done;
static long n_threads;

__attribute__((noinline)) long work(long n)
{
    __atomic_add_fetch(&n_done, 1, __ATOMIC_RELAXED);
    return n + 1;
}

static void *run(void *arg)
{
    struct timespec tick = {0, 200000};
    long expected = 0;
    while (!stop) {
        for (int i = 0; i < 20; ++i)
            expected = work(expected);
        nanosleep(&tick, NULL);
    }
    return arg;
}

static void *finish(void *arg)
{
    pthread_t *threads = arg;
    char byte;
    while (read(0, &byte, 1) > 0) {
    }
    stop = 1;
    for (long i = 0; i < n_threads; ++i)
        pthread_join(threads[i], NULL);
    printf("calls %ld\n", n_done);
    fflush(stdout);
    _exit(n_done % 20 == 0 ? 0 : 1);
}

int main(int argc, char **argv)
{
    static pthread_t threads[256];
    pthread_t last;
    n_threads = argc > 1 ? atol(argv[1]) : 4;
    for (long i = 0; i < n_threads; ++i)
        pthread_create(&threads[i], NULL, run, NULL);
    printf("ready %d\n", getpid());
    fflush(stdout);
    if (argc > 2) {
        pthread_create(&last, NULL, finish, threads);
        pthread_exit(NULL);
    }
    finish(threads);
    return 0;
}
