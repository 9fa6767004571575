// SPDX-License-Identifier: MIT
// stopping [handler | blocked]: prints "ready PID", then calls work() until its stdin
// ends. At the end, prints how many times it handled SIGCONT.
//   handler  has a handler for SIGCONT
//   blocked  blocks SIGTRAP 200 ms before each call of work(), with a system call that
//            dtrace does not notice
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile int stop;
static int is_blocking;
static volatile sig_atomic_t n_continued;

__attribute__((noinline)) long work(long n)
{
    __asm__ volatile("" ::: "memory");
    return n + 1;
}

static void on_continue(int signal)
{
    (void)signal;
    ++n_continued;
}

static void block_trap(void)
{
    const unsigned long mask = 1ul << (SIGTRAP - 1);
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, &mask, NULL, sizeof mask);
}

static void *run(void *arg)
{
    long n = 0;
    while (!stop) {
        if (is_blocking) {
            block_trap();
            usleep(200 * 1000);
        }
        n = work(n);
    }
    return arg;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "handler") == 0) {
        struct sigaction action = {.sa_handler = on_continue, .sa_flags = SA_RESTART};
        sigaction(SIGCONT, &action, NULL);
    }
    is_blocking = argc > 1 && strcmp(argv[1], "blocked") == 0;
    pthread_t thread;
    pthread_create(&thread, NULL, run, NULL);
    printf("ready %d\n", getpid());
    fflush(stdout);
    char byte;
    while (read(0, &byte, 1) > 0) {
    }
    stop = 1;
    pthread_join(thread, NULL);
    printf("continued %d\n", (int)n_continued);
    return 0;
}
