// SPDX-License-Identifier: MIT
// Calls work() until its stdin is closed, and receives SIGALRM at 1 kHz.
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>

__attribute__((noinline)) long work(long n)
{
    return n * 5;
}

static void on_alarm(int signal)
{
    (void)signal;
}

int main(void)
{
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    struct itimerval each = {{0, 1000}, {0, 1000}};
    struct pollfd input = {.fd = 0, .events = POLLIN};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &each, NULL);
    puts("ready");
    fflush(stdout);
    long sum = 0, expected = 0;
    while (poll(&input, 1, 0) <= 0) { // a signal may interrupt poll(2)
        for (long i = 0; i < 1000000; ++i) {
            sum += work(i);
            expected += i * 5;
        }
    }
    return sum == expected ? 0 : 1;
}
