// SPDX-License-Identifier: MIT
// floats CALLS: calls step() while invalid floating-point operations cause SIGFPE.
// Exits with 1 if a vector register or the rounding mode has changed.
#define _GNU_SOURCE
#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) void step(long n)
{
    __asm__ volatile("" ::"r"(n) : "memory");
}

int main(int argc, char** argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 100, odd = 0;
    fesetround(FE_UPWARD);
    feenableexcept(FE_INVALID);
    for (long i = 0; i < rounds; i++) {
        double before[8], after[8];
        for (int k = 0; k < 8; k++)
            before[k] = (double)i / (k + 3);
        const double* in = before;
        double* out = after;
        __asm__ volatile("movsd (%0), %%xmm0\n\t"
                         "movsd 8(%0), %%xmm1\n\t"
                         "movsd 16(%0), %%xmm7\n\t"
                         "movsd 24(%0), %%xmm15\n\t"
                         "mov %2, %%rdi\n\t"
                         "sub $256, %%rsp\n\t" // skips the red zone
                         "call step\n\t"
                         "add $256, %%rsp\n\t"
                         "movsd %%xmm0, (%1)\n\t"
                         "movsd %%xmm1, 8(%1)\n\t"
                         "movsd %%xmm7, 16(%1)\n\t"
                         "movsd %%xmm15, 24(%1)"
                         :
                         : "r"(in), "r"(out), "r"(i)
                         : "rdi", "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11",
                           "xmm0", "xmm1", "xmm7", "xmm15", "memory", "cc");
        for (int k = 0; k < 4; k++)
            odd += before[k] != after[k];
        odd += fegetround() != FE_UPWARD;
    }
    if (odd != 0)
        printf("odd %ld\n", odd);
    return odd != 0;
}
