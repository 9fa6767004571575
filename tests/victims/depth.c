// SPDX-License-Identifier: MIT
// depth ROUNDS: overflows a stack of 64 KiB, and calls work() on a stack of 2 KiB above
// a guard page. Prints how many frames fit into the 64 KiB, and the size of a frame.
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { page_bytes = 4096, deep_bytes = 65536, small_bytes = 2048 };

static sigjmp_buf above;
static volatile long n_frames;
static char *guard, *last_frame, *frame_before;
static long n_odd, rounds;
static ucontext_t out, in;

__attribute__((noinline)) long work(long n)
{
    volatile long room[4] = {n, n + 1, n + 2, n + 3};
    return room[n & 3];
}

__attribute__((noinline)) long deep(long n)
{
    n_frames = n;
    if (n < 0)
        return 0; // n is never negative
    frame_before = last_frame;
    last_frame = __builtin_frame_address(0);
    return deep(n + 1) + work(n);
}

static void on_end(int number, siginfo_t* info, void* context)
{
    (void)number, (void)context;
    char* at = info->si_addr;
    n_odd += at < guard || at >= guard + page_bytes;
    siglongjmp(above, 1);
}

static void go_deep(void)
{
    if (sigsetjmp(above, 1) == 0)
        deep(0);
    setcontext(&out);
}

static void go_small(void)
{
    for (long i = 0; i < rounds; ++i)
        n_odd += work(i) != i + (i & 3);
    setcontext(&out);
}

static void on_stack(void (*run)(void), size_t n)
{
    volatile int is_back = 0;
    getcontext(&out);
    if (is_back)
        return;
    is_back = 1;
    getcontext(&in);
    in.uc_stack.ss_sp = guard + page_bytes;
    in.uc_stack.ss_size = n;
    in.uc_link = NULL;
    makecontext(&in, run, 0);
    setcontext(&in);
}

int main(int argc, char** argv)
{
    static char handlers_stack[65536];
    stack_t alternate = {.ss_sp = handlers_stack, .ss_size = sizeof handlers_stack};
    struct sigaction action = {.sa_sigaction = on_end,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK};
    rounds = argc > 1 ? atol(argv[1]) : 10;
    guard = mmap(NULL, page_bytes + deep_bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(guard, page_bytes, PROT_NONE);
    sigaltstack(&alternate, NULL);
    sigaction(SIGSEGV, &action, NULL);
    long first = 0;
    for (volatile long i = 0; i < rounds; ++i) {
        on_stack(go_deep, deep_bytes);
        if (i == 0)
            first = n_frames;
        n_odd += n_frames != first;
    }
    on_stack(go_small, small_bytes);
    printf("frames %ld\nbytes %ld\nodd %ld\n", first, (long)(frame_before - last_frame),
           n_odd);
    return 0;
}
