// SPDX-License-Identifier: MIT
// Receives SIGALRM at 1 kHz while it calls work() N times. The handler calls handled().
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static volatile long n_alarms, n_done, n_odd;

__attribute__((noinline)) long handled(long n)
{
    n_alarms += 1;
    return n;
}

__attribute__((noinline)) long work(long n)
{
    n_done += 1;
    return n * 5;
}

static void on_alarm(int signal, siginfo_t *info, void *context)
{
    (void)context;
    n_odd += info->si_signo != SIGALRM || info->si_code != SI_KERNEL;
    handled(signal);
}

int main(int argc, char **argv)
{
    long n = argc > 1 ? atol(argv[1]) : 20000;
    struct sigaction action = {.sa_sigaction = on_alarm,
                               .sa_flags = SA_SIGINFO | SA_RESTART};
    struct itimerval each = {{0, 1000}, {0, 1000}};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &each, NULL);
    long sum = 0;
    for (long i = 0; i < n; ++i)
        sum += work(i);
    while (n_alarms < 50) {
        struct timespec tick = {0, 300000};
        nanosleep(&tick, NULL);
    }
    each.it_interval.tv_usec = each.it_value.tv_usec = 0;
    setitimer(ITIMER_REAL, &each, NULL);
    printf("calls %ld sum %ld handled %ld odd %ld\n", n_done, sum, n_alarms, n_odd);
    return n_odd == 0 ? 0 : 1;
}
