// SPDX-License-Identifier: MIT
// Runs chains of threads. Each thread creates its successor and exits, so a tracer that
// seizes threads one by one always finds new ones. The threads cannot use the C
// library, because they share the main thread's thread pointer.
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { in_chain = 16, max_chains = 256 };

static char stacks[max_chains * in_chain][4096];
static volatile int is_used[max_chains * in_chain]; // the kernel clears an element when its thread ends

__attribute__((noinline)) long work(long n)
{
    __asm__ volatile("" ::: "memory");
    return n + 1;
}

static int succeed(void* arg);

static void begin(uintptr_t number)
{
    is_used[number] = 1;
    clone(succeed, stacks[number] + sizeof stacks[0],
          CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
              CLONE_CHILD_CLEARTID,
          (void*)number, NULL, NULL, &is_used[number]);
}

static int succeed(void* arg)
{
    const uintptr_t number = (uintptr_t)arg, first = number / in_chain * in_chain;
    uintptr_t next = number;
    do
        next = first + (next + 1) % in_chain;
    while (is_used[next]);
    begin(next);
    syscall(SYS_exit, 0);
    return 0;
}

int main(int argc, char** argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 1;
    long calls = 0;

    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    for (int i = 0; i < n && i < max_chains; i++)
        begin((uintptr_t)i * in_chain);
    puts("ready");
    fflush(stdout);
    for (;;) {
        calls = work(calls);
        usleep(1000);
    }
}
