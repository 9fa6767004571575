// SPDX-License-Identifier: MIT
// A program that executes int3 and sends SIGTRAP to itself. Its handler counts the
// signals from both sources.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile long n_kernel, n_user, n_done;

__attribute__((noinline)) long work(long n)
{
    n_done += 1;
    return n;
}

static void on_trap(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)context;
    if (info->si_code == SI_KERNEL)
        n_kernel += 1;
    else
        n_user += 1;
    work(1);
}

int main(int argc, char **argv)
{
    long n = argc > 1 ? atol(argv[1]) : 100;
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
    sigaction(SIGTRAP, &action, NULL);
    for (long i = 0; i < n; ++i) {
        work(i);
        __asm__ volatile("int3");
        work(i);
        kill(getpid(), SIGTRAP);
    }
    printf("kernel %ld user %ld calls %ld\n", n_kernel, n_user, n_done);
    return n_kernel == n && n_user == n ? 0 : 1;
}
