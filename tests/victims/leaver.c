// SPDX-License-Identifier: MIT
// leaver HOW DELAY_US [PROGRAM] leaves its tracer: two threads call work(), and DELAY_US
// after a tracer has attached, the main thread
//
//   exits   ends the process
//   dies    ends the process with SIGKILL
//   execs   executes PROGRAM with the argument "stays"
//
// Prints "ready" when its threads run. With "stays", it prints its effective user and
// the number of dtrace's mappings, calls work() until its input ends, and prints the
// number of dtrace's mappings again.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile long n_calls, ends;

__attribute__((noinline)) long work(long n)
{
    __asm__ volatile("" ::: "memory");
    return n + 1;
}

static void* call(void* arg)
{
    while (!ends)
        n_calls = work(n_calls);
    return arg;
}

// Returns how many lines of a file in /proc/self contain the text.
static int lines_with(const char* path, const char* text)
{
    char line[512];
    int n = 0;
    FILE* file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        n += strstr(line, text) != NULL;
    if (file != NULL)
        fclose(file);
    return n;
}

static long now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int stay(void)
{
    char byte;
    printf("user %d mapped %d\n", (int)geteuid(), lines_with("/proc/self/maps", "memfd:dtrace"));
    fflush(stdout);
    while (read(0, &byte, 1) > 0) {
    }
    printf("mapped %d\n", lines_with("/proc/self/maps", "memfd:dtrace"));
    ends = 1;
    return 0;
}

int main(int argc, char** argv)
{
    pthread_t threads[2];
    const char* how = argc > 1 ? argv[1] : "";
    long delay_us = argc > 2 ? atol(argv[2]) : 0, began;

    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, call, NULL);
    if (strcmp(how, "stays") == 0)
        return stay();
    puts("ready");
    fflush(stdout);
    while (lines_with("/proc/self/status", "TracerPid:\t0\n") == 1) {
    }
    for (began = now_us(); now_us() < began + delay_us;) {
    }
    if (strcmp(how, "exits") == 0)
        _exit(0);
    if (strcmp(how, "execs") == 0 && argc > 3)
        execl(argv[3], argv[3], "stays", (char*)NULL);
    raise(SIGKILL);
    return 1;
}
