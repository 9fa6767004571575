// SPDX-License-Identifier: MIT
// names N: calls functions with several names, no name or several parts, N times by
// each name. Prints the sum of the results.
#include <stdio.h>
#include <stdlib.h>

static volatile long sink;

__attribute__((noinline)) long first(long n)
{
    sink += n;
    return n * 3;
}
long also_first(long n) __attribute__((alias("first")));
long maybe_first(long n) __attribute__((weak, alias("first")));
extern __typeof(first) _hidden_first
    __attribute__((alias("first"), visibility("hidden")));

__attribute__((noinline)) long chosen_here(long n)
{
    sink += n;
    return n * 5;
}
static long (*choose(void))(long)
{
    return chosen_here;
}
long chosen(long n) __attribute__((ifunc("choose")));

__attribute__((cold, noinline)) static void rare(long n)
{
    sink -= n;
    sink -= n / 3;
}
// The compiler moves the unlikely branch to split.cold.
__attribute__((noinline, optimize("O2,reorder-blocks-and-partition"))) long
split(long n)
{
    sink += n;
    if (__builtin_expect(n % 10 == 0, 0)) {
        rare(n);
        sink *= 3;
        rare(sink);
        return sink % 7;
    }
    return n * 7;
}

int main(int argc, char** argv)
{
    long n = argc > 1 ? atol(argv[1]) : 10, sum = 0;
    for (long i = 0; i < n; ++i)
        sum += first(i) + also_first(i) + maybe_first(i) + _hidden_first(i) +
               chosen(i) + split(i);
    printf("sum %ld\n", sum);
    return 0;
}
