// SPDX-License-Identifier: MIT
// parts N: calls functions whose unlikely parts the compiler moves away (NAME.cold),
// and functions that only look like such parts. Unlikely parts run in half of the
// calls.
#include <stdio.h>
#include <stdlib.h>

static volatile long sink;

// A separate function, far away from its callers.
__attribute__((cold, noipa)) static long report(long n)
{
    sink += n;
    return sink;
}

__attribute__((cold, noipa, noreturn)) static void give_up(long n)
{
    printf("gave up at %ld\n", n);
    exit(1);
}

// The split-off part runs with a frame that already exists, and jumps back.
__attribute__((noipa)) static long with_a_frame(long n, long* place)
{
    long before = *place, first = labs(before);
    if (__builtin_expect(n & 1, 0)) {
        report(n);
        *place += report(before) + first;
    }
    return labs(*place) + first + before;
}

// The split-off part runs without a frame and never jumps back.
__attribute__((noipa)) static long without_a_frame(long n, long* place)
{
    if (__builtin_expect(n < 0, 0))
        give_up(n);
    *place ^= n;
    return n + 1;
}

// The part that the compiler moves away has a ret of its own.
__attribute__((noipa)) static long returns_there(long n, long* place)
{
    if (__builtin_expect(n & 1, 0)) {
        *place = report(n);
        return -1;
    }
    *place += n;
    return *place;
}

int main(int argc, char** argv)
{
    long n = argc > 1 ? atol(argv[1]) : 1, place = 7;
    for (long i = 0; i < n; ++i)
        sink += with_a_frame(i, &place) + without_a_frame(i, &place) +
                returns_there(i, &place);
    printf("calls %ld unlikely %ld\n", n, n / 2);
    return 0;
}
