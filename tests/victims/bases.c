// SPDX-License-Identifier: MIT
// bases HOW runs a thread that may set its fs_base or gs_base. Prints "ready TID". For
// each line on stdin, the thread calls work() a thousand times. If the line is "fork",
// the thread also forks. After line N, prints "done N gs GS CHILD". GS and CHILD are
// the gs_base of the thread and of its last child. If HOW is gs, they are printed
// relative to the gs_base that the thread has set. HOW is:
//
//   main      the thread is the main thread
//   settled   created with clone(2) but not CLONE_SETTLS; sets its own fs_base, as Go
//             does
//   shared    created like `settled`, but keeps the main thread's fs_base
//   changing  created like `settled`, but sets another fs_base for each line
//   gs        created like `shared`, but sets a gs_base of its own
//   late-gs   created like `shared`, but sets a gs_base of its own at the third line
//
// If HOW is main, the thread does not fork. Otherwise, the main thread calls other() a
// thousand times per line.
#define _GNU_SOURCE
#include <asm/prctl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { stack_bytes = 65536, area_bytes = 8192, n_calls = 1000 };

static volatile int order, done, tid;
static unsigned long gs_base, gs_base_of_child;
static volatile long sink;
static char stack[stack_bytes] __attribute__((aligned(16)));
// The fs_base that a thread sets points to the middle of one of these areas.
static char areas[2][area_bytes] __attribute__((aligned(64)));
static int settles, changes, uses_gs, late_gs;
static volatile int forks;

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

// Makes a system call without setting errno. A thread that was created with clone(2)
// has no errno of its own.
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

static void set_fs_base(int which)
{
    void **own = (void **)(areas[which] + area_bytes / 2);
    own[0] = own; // the ABI requires that the first word is its own address
    call(SYS_arch_prctl, ARCH_SET_FS, (long)own, 0);
}

static unsigned long get_gs_base(void)
{
    unsigned long base = 0;
    call(SYS_arch_prctl, ARCH_GET_GS, (long)&base, 0);
    return base;
}

static unsigned long gs_base_of_new_child(void)
{
    unsigned long base = 0;
    int ends[2];
    call(SYS_pipe, (long)ends, 0, 0);
    long child = call(SYS_clone, SIGCHLD, 0, 0);
    if (child == 0) {
        base = get_gs_base();
        call(SYS_write, ends[1], (long)&base, sizeof base);
        call(SYS_exit_group, 0, 0, 0);
    }
    call(SYS_close, ends[1], 0, 0);
    call(SYS_read, ends[0], (long)&base, sizeof base);
    call(SYS_close, ends[0], 0, 0);
    call(SYS_wait4, child, 0, 0);
    return base;
}

static int serve(void *arg)
{
    if (settles || changes)
        set_fs_base(0);
    if (uses_gs)
        call(SYS_arch_prctl, ARCH_SET_GS, (long)areas[1], 0);
    tell(&tid, (int)call(SYS_gettid, 0, 0, 0));
    for (int round = 1;; ++round) {
        await(&order, round);
        if (changes)
            set_fs_base(round % 2);
        if (late_gs && round == 3)
            call(SYS_arch_prctl, ARCH_SET_GS, (long)areas[1], 0);
        for (long i = 0; i < n_calls; ++i)
            work(i);
        gs_base = get_gs_base();
        if (forks)
            gs_base_of_child = gs_base_of_new_child();
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
    changes = strcmp(how, "changing") == 0;
    uses_gs = strcmp(how, "gs") == 0;
    late_gs = strcmp(how, "late-gs") == 0;
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
        forks = strcmp(line, "fork\n") == 0;
        for (long i = 0; i < n_calls; ++i)
            is_main ? work(i) : other(i);
        if (!is_main) {
            tell(&order, round);
            await(&done, round);
        }
        printf("done %d gs %lx %lx\n", round, gs_base - (uses_gs ? (long)areas[1] : 0),
               gs_base_of_child - (uses_gs ? (long)areas[1] : 0));
        fflush(stdout);
    }
    return 0;
}
