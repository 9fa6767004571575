// SPDX-License-Identifier: MIT
// edges N LIBRARY: runs code outside the program's own functions, N times. This code is
// the vDSO, a signal handler's return stub, and the dynamic linker's resolver.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int n_frames, n_mains;

__attribute__((noinline)) static void on_signal(int number)
{
    void* frames[64];
    (void)number;
    n_frames = backtrace(frames, 64);
}

// Returns the number of frames in the backtrace of a signal handler.
__attribute__((noinline)) static int frames_of_handler(void)
{
    raise(SIGUSR1);
    return n_frames;
}

int main(int argc, char** argv)
{
    long n = argc > 1 ? atol(argv[1]) : 10;
    long n_back = 0, n_odd = 0, sum = 0;
    struct timespec last = {0}, now;
    struct timeval day;
    void* frames[2];
    backtrace(frames, 2); // loads libgcc
    signal(SIGUSR1, on_signal);
    int want = frames_of_handler();
    void* library = argc > 2 ? dlopen(argv[2], RTLD_LAZY) : NULL;
    long (*local)(long) =
        library ? (long (*)(long))dlsym(library, "count_local") : NULL;
    for (long i = 0; i < n; ++i) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        n_back += now.tv_sec < last.tv_sec ||
                  (now.tv_sec == last.tv_sec && now.tv_nsec < last.tv_nsec);
        last = now;
        gettimeofday(&day, NULL);
        n_odd += labs((long)(time(NULL) - day.tv_sec)) > 1;
        n_odd += frames_of_handler() != want;
        n_mains += frames_of_handler() >= 4;
        if (local != NULL)
            sum += local(i);
    }
    printf("back %ld odd %ld whole %d sum %ld\n", n_back, n_odd, n_mains, sum);
    return 0;
}
