// SPDX-License-Identifier: MIT
// Threads and their fs_base. bases HOW prints "ready TID", where TID is the thread that
// calls work(). For each line on stdin, that thread calls work() a thousand times and
// prints "done N". HOW selects the thread:
//
//   main     the main thread
//   settled  created by clone(2) without CLONE_SETTLS; sets its own fs_base, as Go does
//   shared   created like `settled`, but keeps the main thread's fs_base
//
// With `settled` and `shared`, the main thread first calls other() a thousand times.
#define _GNU_SOURCE
#include <asm/prctl.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { stack_bytes = 65536, area_bytes = 8192, n_calls = 1000 };

static volatile int order, done, tid;
static volatile long sink;
static char stack[stack_bytes] __attribute__((aligned(16)));
// The fs_base of the `settled` thread is the middle of this area.
static char area[area_bytes] __attribute__((aligned(64)));
static int settles;

__attribute__((noinline)) long work(long n)
{
    sink += n;
    return n;
}

__attribute__((noinline)) long other(long n)
{
    sink -= n;
    return n;
}

// Makes a system call without setting errno, which belongs to the main thread.
static long call(long number, long a, long b, long c)
{
    long result;
    register long r10 __asm__("r10") = 0;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
                     : "rcx", "r11", "memory");
    return result;
}

static void await(volatile int *word, int value)
{
    int now;
    while ((now = __atomic_load_n(word, __ATOMIC_SEQ_CST)) != value)
        call(SYS_futex, (long)word, FUTEX_WAIT, now);
}

static void tell(volatile int *word, int value)
{
    __atomic_store_n(word, value, __ATOMIC_SEQ_CST);
    call(SYS_futex, (long)word, FUTEX_WAKE, 1);
}

static int serve(void *arg)
{
    if (settles) {
        void **own = (void **)(area + area_bytes / 2);
        own[0] = own; // the ABI requires that the first word is its own address
        call(SYS_arch_prctl, ARCH_SET_FS, (long)own, 0);
    }
    tell(&tid, (int)call(SYS_gettid, 0, 0, 0));
    for (int round = 1;; ++round) {
        await(&order, round);
        for (long i = 0; i < n_calls; ++i)
            work(i);
        tell(&done, round);
    }
    return arg != NULL;
}

int main(int argc, char **argv)
{
    char line[64];
    const char *how = argc > 1 ? argv[1] : "main";
    int is_main = strcmp(how, "main") == 0;
    settles = strcmp(how, "settled") == 0;
    if (is_main) {
        tid = getpid();
    } else {
        clone(serve, stack + stack_bytes,
              CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
                  CLONE_SYSVSEM,
              NULL);
        while (__atomic_load_n(&tid, __ATOMIC_SEQ_CST) == 0)
            call(SYS_futex, (long)&tid, FUTEX_WAIT, 0);
    }
    printf("ready %d\n", tid);
    fflush(stdout);
    for (int round = 1; fgets(line, sizeof line, stdin) != NULL; ++round) {
        for (long i = 0; i < n_calls; ++i)
            is_main ? work(i) : other(i);
        if (!is_main) {
            tell(&order, round);
            await(&done, round);
        }
        printf("done %d\n", round);
        fflush(stdout);
    }
    return 0;
}
