// SPDX-License-Identifier: MIT
// Calls work() until its stdin is closed, and receives SIGALRM at 1 kHz. Once the handler
// has interrupted code outside the program's text, it waits for a byte from stdin before
// it returns. The argument selects the stacks:
//
//   main       the handler runs on the thread's own stack
//   alternate  it runs on an alternate stack
//   nested     it runs on the thread's own stack, and a second handler on the alternate
//              stack interrupts it and waits
//   none       the handler does not wait
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

extern char __executable_start, etext;
static volatile sig_atomic_t in_loop, waits, nested, has_returned;

__attribute__((noinline)) long work(long n)
{
    return n * 5;
}

static void wait_for_byte(void)
{
    char byte;
    if (write(1, "held\n", 5) != 5 || read(0, &byte, 1) != 1)
        _exit(1);
}

static void on_second(int signal)
{
    (void)signal;
    wait_for_byte();
}

static void on_alarm(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    const char *rip =
        (const char *)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    if (!in_loop || !waits || (rip >= &__executable_start && rip < &etext))
        return;
    waits = 0;
    if (nested)
        raise(SIGUSR2);
    else
        wait_for_byte();
    has_returned = 1;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "none";
    stack_t alternate = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
    struct sigaction action = {.sa_sigaction = on_alarm,
                               .sa_flags = SA_SIGINFO | SA_RESTART};
    struct sigaction second = {.sa_handler = on_second, .sa_flags = SA_ONSTACK};
    struct itimerval each = {{0, 1000}, {0, 1000}};
    struct pollfd input = {.fd = 0, .events = POLLIN};
    waits = strcmp(mode, "none") != 0;
    nested = strcmp(mode, "nested") == 0;
    if (strcmp(mode, "alternate") == 0)
        action.sa_flags |= SA_ONSTACK;
    sigaltstack(&alternate, NULL);
    sigaction(SIGALRM, &action, NULL);
    sigaction(SIGUSR2, &second, NULL);
    setitimer(ITIMER_REAL, &each, NULL);
    puts("ready");
    fflush(stdout);
    long sum = 0, expected = 0;
    while (poll(&input, 1, 0) <= 0) { // a signal may interrupt poll(2)
        in_loop = 1;
        for (long i = 0; i < 1000000; ++i) {
            sum += work(i);
            expected += i * 5;
        }
        in_loop = 0;
        if (has_returned) {
            has_returned = 0;
            puts("returned");
            fflush(stdout);
        }
    }
    return sum == expected ? 0 : 1;
}
