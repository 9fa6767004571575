// SPDX-License-Identifier: MIT
// corpus ROUNDS: calls every function of corpus.S with the numbers 0 to 9, ROUNDS
// times. Prints a hash of the results, and counts faults with a wrong address.
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

extern const struct {
    long (*function)(long, long*);
    const char* name;
} functions[];
extern const struct {
    uintptr_t at, on;
} faults[];

static long n_faults, n_odd;

static void on_fault(int number, siginfo_t* info, void* context)
{
    greg_t* regs = ((ucontext_t*)context)->uc_mcontext.gregs;
    uintptr_t pc = (uintptr_t)regs[REG_RIP] - (number == SIGTRAP);
    n_faults += 1;
    // For SIGILL and SIGFPE, si_addr must be the address of the original instruction,
    // not of its moved copy.
    if ((number == SIGILL || number == SIGFPE) && (uintptr_t)info->si_addr != pc)
        n_odd += 1;
    if (number == SIGSEGV && (uintptr_t)info->si_addr > 64)
        n_odd += 1;
    for (int i = 0; faults[i].at != 0; ++i) {
        if (faults[i].at == pc) {
            regs[REG_RIP] = (greg_t)faults[i].on;
            return;
        }
    }
    printf("a fault (%d) at an unknown address\n", number);
    exit(3);
}

int main(int argc, char** argv)
{
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};
    long rounds = argc > 1 ? atol(argv[1]) : 1;
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; ++i)
        sigaction(numbers[i], &action, NULL);
    for (int i = 0; functions[i].function != NULL; ++i) {
        uint64_t hash = 14695981039346656037ull;
        for (long round = 0; round < rounds; ++round) {
            for (long n = 0; n < 10; ++n) {
                long memory[16] __attribute__((aligned(16)));
                memset(memory, 0x11, sizeof memory);
                memset(&memory[2], 0, 16);
                hash = (hash ^ (uint64_t)functions[i].function(n, memory)) *
                       1099511628211ull;
            }
        }
        printf("%s %016lx\n", functions[i].name, hash);
        fflush(stdout);
    }
    printf("faults %ld odd %ld\n", n_faults, n_odd);
    return 0;
}
