// SPDX-License-Identifier: MIT
// allocs ROUNDS allocates known numbers of blocks and frees them. Prints "small CALLS
// BYTES" and "large CALLS BYTES". Printing allocates nothing.
#include <stdio.h>
#include <stdlib.h>

enum { n_small = 4, small_bytes = 24, large_bytes = 5000 };

static char output[512];
static void* volatile block;
static long small_calls, large_calls;

static void take(size_t bytes)
{
    block = malloc(bytes);
    free(block);
}

__attribute__((noinline)) void small(void)
{
    for (int i = 0; i < n_small; ++i, ++small_calls)
        take(small_bytes);
}

__attribute__((noinline)) void large(void)
{
    take(large_bytes);
    ++large_calls;
}

int main(int argc, char** argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 10;
    setvbuf(stdout, output, _IOFBF, sizeof output);
    for (long i = 0; i < rounds; ++i) {
        small();
        large();
    }
    printf("small %ld %ld\n", small_calls, small_calls * small_bytes);
    printf("large %ld %ld\n", large_calls, large_calls * large_bytes);
    return 0;
}
