// SPDX-License-Identifier: MIT
// frames [ROUNDS] calls functions with frames of many shapes, ROUNDS times or forever.
#include <alloca.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline, noclone))
static volatile long sink;

NOINLINE long leaf(long n)
{
    sink += n;
    return n + 1;
}

NOINLINE long sized(long n)
{
    volatile char room[200];
    room[n & 127] = 1;
    return leaf(n) + room[n & 127];
}

NOINLINE long growing(long n)
{
    char *room = alloca((size_t)(n & 255) + 16);
    memset(room, 1, 16);
    sink += room[n & 15];
    return sized(n) + room[0];
}

NOINLINE long aligned(long n)
{
    volatile char room[64] __attribute__((aligned(64)));
    room[n & 63] = 2;
    return growing(n) + room[n & 63];
}

NOINLINE long saving(long a, long b, long c, long d, long e, long f, long g)
{
    long all = aligned(a) + aligned(b) + growing(c);
    return all + a * b + c * d + e * f + g + leaf(all & d);
}

static int compare(const void *a, const void *b)
{
    long x = *(const long *)a, y = *(const long *)b;
    return (int)(saving(x, y, 1, 2, 3, 4, 5) & 1) - (x < y);
}

NOINLINE long recursing(long n)
{
    if (n == 0) {
        long all[5] = {3, 1, 4, 1, 5};
        qsort(all, 5, sizeof(all[0]), compare);
        return all[0];
    }
    return recursing(n - 1) + saving(n, 1, 2, 3, 4, 5, 6);
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : -1;
    for (long i = 0; i != rounds; ++i)
        recursing(i % 9);
    printf("sink %ld\n", sink & 1);
    return 0;
}
