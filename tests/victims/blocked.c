// SPDX-License-Identifier: MIT
// blocked CALLS blocked|ignored|handled: calls work() with signals blocked, with
// SIGTRAP ignored, or with signals blocked and SIGTRAP handled. Checks that mask and
// action are unchanged. If the environment contains WAIT, waits for a byte on stdin
// first.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile long n_done, n_handled;
static long n_calls;
static int mask_kept;

__attribute__((noinline)) long work(long n)
{
    n_done += 1;
    return n;
}

static void on_trap(int signal)
{
    n_handled += signal == SIGTRAP;
}

static void *run(void *arg)
{
    sigset_t now;
    for (long i = 0; i < n_calls; ++i)
        work(i);
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    mask_kept = sigismember(&now, SIGTRAP) == (arg != NULL);
    return NULL;
}

int main(int argc, char **argv)
{
    n_calls = argc > 1 ? atol(argv[1]) : 100;
    const char *how = argc > 2 ? argv[2] : "blocked";
    int block = strcmp(how, "ignored") != 0;
    struct sigaction action, now;
    memset(&action, 0, sizeof action);
    action.sa_handler = SIG_DFL;
    if (strcmp(how, "ignored") == 0)
        action.sa_handler = SIG_IGN;
    if (strcmp(how, "handled") == 0)
        action.sa_handler = on_trap;
    sigaction(SIGTRAP, &action, NULL);
    if (getenv("WAIT") != NULL) {
        char byte;
        puts("ready");
        fflush(stdout);
        if (read(0, &byte, 1) != 1)
            return 9;
    }
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(block ? SIG_SETMASK : SIG_BLOCK, block ? &all : NULL, &before);
    pthread_t thread;
    pthread_create(&thread, NULL, run, block ? &all : NULL);
    pthread_join(thread, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    sigaction(SIGTRAP, NULL, &now);
    int action_kept = now.sa_handler == action.sa_handler;
    printf("calls %ld mask %s action %s\n", n_done, mask_kept ? "kept" : "lost",
           action_kept ? "kept" : "lost");
    return mask_kept && action_kept ? 0 : 1;
}
