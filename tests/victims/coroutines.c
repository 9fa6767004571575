// SPDX-License-Identifier: MIT
// coroutines ROUNDS: switches between coroutines in the middle of probed functions, and
// calls longjmp() and backtrace() in them. Prints how many results were correct.
#define _GNU_SOURCE
#include <execinfo.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { n_coroutines = 8, stack_bytes = 16384, page = 4096 };

static ucontext_t back, all[n_coroutines];
static jmp_buf out;
static volatile long n_calls, n_wrong;

__attribute__((noinline)) long yield(int who, long n)
{
    swapcontext(&all[who], &back);
    n_calls += 1;
    return n + who;
}

__attribute__((noinline)) long work(int who, long n)
{
    return yield(who, n) * 2;
}

static void coroutine(int who)
{
    for (long n = 0;; ++n) {
        if (work(who, n) != (n + who) * 2)
            n_wrong += 1;
    }
}

__attribute__((noinline)) long jump(long n)
{
    n_calls += 1;
    if (n >= 0)
        longjmp(out, 1);
    return n;
}

__attribute__((noinline)) int depth_of(int n)
{
    void* frames[64];
    n_calls += 1;
    if (n > 0)
        return depth_of(n - 1) + (n_calls < 0);
    return backtrace(frames, 64);
}

static char* guarded_stack(void)
{
    char* all_of_it = mmap(NULL, stack_bytes + 2 * page, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all_of_it == MAP_FAILED ||
        mprotect(all_of_it + page, stack_bytes, PROT_READ | PROT_WRITE) != 0)
        exit(9);
    return all_of_it + page;
}

int main(int argc, char** argv)
{
    volatile long rounds = argc > 1 ? atol(argv[1]) : 1000;
    volatile long n_switched = 0, n_jumped = 0, n_deep = 0;
    int base = depth_of(0);

    for (int i = 0; i < n_coroutines; ++i) {
        getcontext(&all[i]);
        all[i].uc_stack.ss_sp = guarded_stack();
        all[i].uc_stack.ss_size = stack_bytes;
        makecontext(&all[i], (void (*)(void))coroutine, 1, i);
    }
    for (volatile long i = 0; i < rounds; ++i) {
        for (int who = 0; who < n_coroutines; ++who) {
            swapcontext(&back, &all[who]);
            n_switched += 1;
        }
        if (setjmp(out) == 0)
            jump(i);
        else
            n_jumped += 1;
        n_deep += depth_of((int)(i % 20)) == base + (int)(i % 20);
    }
    printf("switched %ld jumped %ld deep %ld wrong %ld calls %ld\n", n_switched,
           n_jumped, n_deep, n_wrong, n_calls);
    return 0;
}
