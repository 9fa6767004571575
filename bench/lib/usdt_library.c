// SPDX-License-Identifier: MIT
// Measures the cost of two static probes with three arguments. One is created at run
// time with libdtrace-usdt. The other is compiled in with dtrace/sdt.h.
//
// The program prints "ready" and then reads commands from stdin:
//   WHAT ROUNDS CALLS
// WHAT is nothing, library or header. For each round, the program prints the CPU time
// per iteration in ns.
#define DTRACE_USE_SEMAPHORES
#include <dtrace/sdt.h>
#include <dtrace/usdt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

DTRACE_SEMAPHORE(benchsdt, hit);
static const struct dtrace_usdt_probe *made;

static double cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

// Defines a function that fires one probe in a loop. The asm statement prevents the
// compiler from removing the loop.
#define LOOP(name, probe)                                                                \
    __attribute__((noinline, aligned(64))) static void name(long n, const char *text)    \
    {                                                                                    \
        for (long i = 0; i < n; i++) {                                                   \
            probe;                                                                       \
            __asm__ volatile("" : "+r"(i), "+r"(text));                                  \
        }                                                                                \
    }
LOOP(nothing, )
LOOP(library, DTRACE_USDT_FIRE(made, i, text, 7))
LOOP(header, if (DTRACE_PROBE_ENABLED(benchsdt, hit)) DTRACE_PROBE3(benchsdt, hit, i, text, 7))

int main(void)
{
    static const struct {
        const char *name;
        void (*run)(long n, const char *text);
    } loops[] = {{"nothing", nothing}, {"library", library}, {"header", header}};
    struct dtrace_usdt_provider *provider = dtrace_usdt_create("benchmade", NULL);
    char line[80], name[20];
    int rounds;
    long n;

    if (provider == NULL ||
        dtrace_usdt_add(provider, "library", "hit", "int64_t string int32_t", &made) != 0 ||
        dtrace_usdt_load(provider) != 0) {
        fprintf(stderr, "usdt_library: %s\n", dtrace_usdt_error());
        return 1;
    }
    printf("ready\n");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin) &&
           sscanf(line, "%19s %d %ld", name, &rounds, &n) == 3) {
        for (size_t i = 0; i < sizeof loops / sizeof loops[0]; i++)
            for (int round = 0; strcmp(loops[i].name, name) == 0 && round < rounds; round++) {
                double begin = cpu_ns();
                loops[i].run(n, "text");
                printf("%.3f ", (cpu_ns() - begin) / (double)n);
            }
        printf("\n");
        fflush(stdout);
    }
    return 0;
}
