// SPDX-License-Identifier: MIT
// jumper ROUNDS: leaves probed functions by longjmp(), ROUNDS times. Also calls
// siglongjmp() in a signal handler that interrupted a probed function.
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static jmp_buf out;
static sigjmp_buf out_of_handler;
static volatile long n_calls, n_landed, n_from_handler;

__attribute__((noinline)) long work(long n)
{
    n_calls += 1;
    if (n % 2 == 0)
        longjmp(out, 1);
    return n;
}

__attribute__((noinline)) long middle(long n)
{
    return work(n) + 1;
}

__attribute__((noinline)) long interrupted(long n)
{
    raise(SIGUSR1);
    return n;
}

static void on_signal(int signal)
{
    siglongjmp(out_of_handler, signal);
}

int main(int argc, char** argv)
{
    volatile long rounds = argc > 1 ? atol(argv[1]) : 100;
    static volatile long sum;
    signal(SIGUSR1, on_signal);
    for (volatile long i = 0; i < rounds; ++i) {
        if (setjmp(out) == 0)
            sum += middle(i);
        else
            n_landed += 1;
        if (sigsetjmp(out_of_handler, 1) == 0)
            sum += interrupted(i);
        else
            n_from_handler += 1;
    }
    printf("calls %ld landed %ld handler %ld sum %ld\n", n_calls, n_landed,
           n_from_handler, sum);
    return 0;
}
