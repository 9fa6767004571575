// SPDX-License-Identifier: MIT
// Times its own calls. Prints "ready PID", then executes the lines on stdin:
//
//   MODE ROUNDS CALLS THREADS PAUSE_MS
//
// Thread K runs on CPU K (modulo the number of CPUs). If CALLS is 0, a round takes
// about 40 ms. Prints "MODE calls=N NS...". N is the number of all calls. Each NS is
// the CPU time per call in one round, in nanoseconds, averaged over the threads.
//
// The modes that start with limit_ call copies of work() that contain hand-written code
// instead of a probe. The cost of this code is a lower bound for the cost of a probe.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define FRAME __attribute__((noinline, noclone, optimize("no-omit-frame-pointer")))

// Thread-local, because the threads would contend for a shared variable.
static __thread volatile unsigned long sink;

NOINLINE unsigned long work(unsigned long n)
{
    n *= 0x9e3779b97f4a7c15UL;
    n ^= n >> 29;
    sink = n;
    return n;
}

// frame1() to frame9() form a chain of nine calls that keep frame pointers.
FRAME unsigned long frame9(unsigned long n)
{
    sink = n;
    return n + 1;
}
#define CALLER(name, callee)                                                             \
    FRAME unsigned long name(unsigned long n)                                            \
    {                                                                                    \
        unsigned long got = callee(n);                                                   \
        __asm__ volatile("" : "+r"(got));                                                \
        return got + 1;                                                                  \
    }
CALLER(frame8, frame9)
CALLER(frame7, frame8)
CALLER(frame6, frame7)
CALLER(frame5, frame6)
CALLER(frame4, frame5)
CALLER(frame3, frame4)
CALLER(frame2, frame3)
CALLER(frame1, frame2)

#ifdef __x86_64__
// Defines a copy of work() that jumps to a detour at its entry. The detour contains the
// code `doing`. The code `after` is located before the ret.
#define LIMIT(name, doing, after)                                                        \
    unsigned long name(unsigned long n);                                                 \
    __asm__(".pushsection .text.detours,\"ax\",@progbits\n"                              \
            ".p2align 4\n" #name "_detour:\n" doing "jmp " #name "_back\n"               \
            ".popsection\n"                                                              \
            ".text\n.p2align 4\n.globl " #name "\n.type " #name ",@function\n" #name     \
            ":\n"                                                                        \
            "jmp " #name "_detour\n" #name "_back:\n"                                    \
            "movabs $0x9e3779b97f4a7c15,%rax\n"                                          \
            "imul %rdi,%rax\nmov %rax,%rdx\nshr $29,%rdx\nxor %rdx,%rax\n"               \
            "mov %rax,limit_sink(%rip)\n" after "ret\n.size " #name ",.-" #name "\n")

unsigned long limit_sink, limit_count, limit_start, limit_ring[4096], limit_buckets[66];
#define CLOCK "rdtsc\nshl $32,%rdx\nor %rdx,%rax\n"
LIMIT(limit_jump, "", "");
LIMIT(limit_counted, "incq limit_count(%rip)\n", "");
// Stores sixteen bytes, {time, arg0}, in a ring buffer of 2,048 entries.
LIMIT(limit_record,
      CLOCK "mov limit_count(%rip),%rcx\nincq limit_count(%rip)\n"
            "and $2047,%ecx\nshl $4,%rcx\nlea limit_ring(%rip),%rdx\n"
            "mov %rax,(%rdx,%rcx)\nmov %rdi,8(%rdx,%rcx)\n",
      "");
// Reads the clock twice, and counts the difference in a power-of-two bucket.
LIMIT(limit_latency, CLOCK "mov %rax,limit_start(%rip)\n",
      "mov %rax,%rsi\n" CLOCK "sub limit_start(%rip),%rax\nbsr %rax,%rax\n"
      "lea limit_buckets(%rip),%rdx\nincq (%rdx,%rax,8)\nmov %rsi,%rax\n");
#endif

static const struct mode {
    const char *name;
    unsigned long (*call)(unsigned long);
} modes[] = {
    {"work", work},
    {"stack", frame1},
#ifdef EXTRA_MODES // defined by bench/lib/lttng/work.c and bench/lib/usdt/modes.h
    EXTRA_MODES
#endif
#ifdef __x86_64__
    {"limit_jump", limit_jump},
    {"limit_counted", limit_counted},
    {"limit_record", limit_record},
    {"limit_latency", limit_latency},
#endif
};

enum { max_rounds = 200, max_threads = 256 };

struct run {
    pthread_t thread;
    unsigned long (*call)(unsigned long);
    long cpu, calls, rounds, pause_ms;
    double ns[max_rounds];
};

static pthread_barrier_t gate;

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double one_round(unsigned long (*call)(unsigned long), long calls)
{
    double began = now_ns();
    for (long i = 0; i < calls; ++i)
        call((unsigned long)i);
    return now_ns() - began;
}

static void *run_rounds(void *arg)
{
    struct run *run = arg;
    cpu_set_t cpus;

    CPU_ZERO(&cpus);
    CPU_SET(run->cpu, &cpus);
    sched_setaffinity(0, sizeof(cpus), &cpus);
    for (long i = 0; i < run->rounds; ++i) {
        pthread_barrier_wait(&gate);
        run->ns[i] = one_round(run->call, run->calls) / (double)run->calls;
        if (run->pause_ms != 0)
            usleep((useconds_t)run->pause_ms * 1000);
    }
    return NULL;
}

// Returns how many calls take about 40 ms. Adds the calls that it made to *made.
static long choose(unsigned long (*call)(unsigned long), long *made)
{
    for (long calls = 1000;; calls *= 4) {
        double ns = one_round(call, calls);

        *made += calls;
        if (ns > 5e6)
            return (long)(40e6 / (ns / (double)calls));
    }
}

static void obey(const struct mode *mode, long rounds, long calls, long threads,
                 long pause_ms)
{
    static struct run runs[max_threads];
    long made = 0;

    if (calls == 0)
        calls = choose(mode->call, &made);
    pthread_barrier_init(&gate, NULL, (unsigned)threads);
    for (long t = 0; t < threads; ++t) {
        runs[t] = (struct run){.call = mode->call,
                               .cpu = t % sysconf(_SC_NPROCESSORS_ONLN),
                               .calls = calls,
                               .rounds = rounds,
                               .pause_ms = pause_ms};
        pthread_create(&runs[t].thread, NULL, run_rounds, &runs[t]);
    }
    for (long t = 0; t < threads; ++t)
        pthread_join(runs[t].thread, NULL);
    pthread_barrier_destroy(&gate);
    printf("%s calls=%ld", mode->name, made + calls * rounds * threads);
    for (long i = 0; i < rounds; ++i) {
        double sum = 0;
        for (long t = 0; t < threads; ++t)
            sum += runs[t].ns[i];
        printf(" %.3f", sum / (double)threads);
    }
    printf("\n");
}

int main(void)
{
    char line[256], name[64];
    long rounds, calls, threads, pause_ms;

    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("ready %d\n", (int)getpid());
    while (fgets(line, sizeof(line), stdin)) {
        if (sscanf(line, "%63s %ld %ld %ld %ld", name, &rounds, &calls, &threads,
                   &pause_ms) != 5 ||
            rounds < 1 || rounds > max_rounds || threads < 1 || threads > max_threads)
            return 2;
        size_t m = 0;
        size_t n_modes = sizeof(modes) / sizeof(modes[0]);
        while (m < n_modes && strcmp(modes[m].name, name) != 0)
            ++m;
        if (m == n_modes)
            printf("%s none\n", name);
        else
            obey(&modes[m], rounds, calls, threads, pause_ms);
    }
    return 0;
}
