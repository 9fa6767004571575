// SPDX-License-Identifier: MIT
// restarts N THREADS: each thread increments per-CPU counters N times in a restartable
// sequence (rseq(2)), while signals arrive. Prints the sum and the number of restarts.
#define _GNU_SOURCE
#include <linux/rseq.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

extern const ptrdiff_t __rseq_offset;
extern const unsigned int __rseq_size;

static struct counter {
    long count;
    long pad[15];
} counters[1024];
static long n_counts, n_again;

// Returns 1 if the sequence was interrupted and the call must be repeated.
int count_here(struct rseq* area, struct counter* all);
__asm__("    .pushsection __rseq_cs, \"aw\"\n"
        "    .balign 32\n"
        "1:  .long 0, 0\n"
        "    .quad 2f, 3f - 2f, 4f\n"
        "    .popsection\n"
        "    .pushsection .text.restarts, \"ax\"\n"
        "    .type count_here, @function\n"
        "count_here:\n"
        "    lea 1b(%rip), %rax\n"
        "    mov %rax, 8(%rdi)\n" // rseq_cs
        "2:  mov 4(%rdi), %eax\n" // cpu_id
        "    shl $7, %rax\n"
        "    mov (%rsi,%rax), %rcx\n"
        "    nop\n"
        "    inc %rcx\n"
        "    mov %rcx, (%rsi,%rax)\n"
        "3:  xor %eax, %eax\n"
        "    ret\n"
        "    .byte 0x0f, 0xb9, 0x3d\n" // ud1 with the signature as its displacement
        "    .long 0x53053053\n"
        "4:  mov $1, %eax\n"
        "    ret\n"
        "    .size count_here, . - count_here\n"
        "    .popsection\n");

__attribute__((noinline)) long count_once(struct rseq* area)
{
    long again = 0;
    while (count_here(area, counters))
        ++again;
    return again;
}

static void on_alarm(int number)
{
    (void)number;
}

static void* run(void* arg)
{
    struct rseq* area =
        (struct rseq*)((char*)__builtin_thread_pointer() + __rseq_offset);
    long again = 0;
    for (long i = 0; i < n_counts; ++i)
        again += count_once(area);
    __atomic_add_fetch(&n_again, again, __ATOMIC_RELAXED);
    return arg;
}

int main(int argc, char** argv)
{
    pthread_t threads[64];
    struct itimerval every = {{0, 100}, {0, 100}};
    n_counts = argc > 1 ? atol(argv[1]) : 1000;
    long n_threads = argc > 2 ? atol(argv[2]) : 4, sum = 0;
    if (__rseq_size == 0) {
        puts("no rseq");
        return 0;
    }
    signal(SIGALRM, on_alarm);
    setitimer(ITIMER_REAL, &every, NULL);
    for (long i = 0; i < n_threads; ++i)
        pthread_create(&threads[i], NULL, run, NULL);
    for (long i = 0; i < n_threads; ++i)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < sizeof counters / sizeof *counters; ++i)
        sum += counters[i].count;
    printf("sum %ld\nagain %ld\n", sum, n_again);
    return 0;
}
