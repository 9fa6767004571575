// SPDX-License-Identifier: MIT
// Handles SIGTRAP with a handler that resets the action to SIG_DFL. Waits for a byte on
// stdin before it sets the handler, and again inside the handler.
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static volatile long n_done;

__attribute__((noinline)) long work(long n)
{
    n_done += 1;
    return n;
}

static void wait_for_byte(const char *line)
{
    char byte;
    puts(line);
    fflush(stdout);
    (void)!read(0, &byte, 1);
}

static void on_trap(int signal)
{
    struct sigaction reset;
    memset(&reset, 0, sizeof reset);
    reset.sa_handler = SIG_DFL;
    sigaction(signal, &reset, NULL);
    wait_for_byte("handler");
}

int main(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_trap;
    wait_for_byte("ready");
    work(1);
    sigaction(SIGTRAP, &action, NULL);
    raise(SIGTRAP);
    work(2);
    printf("returned, calls %ld\n", n_done);
    return 0;
}
