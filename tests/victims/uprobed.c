// SPDX-License-Identifier: MIT
// uprobed N calls functions N times and prints the sum. Without N, it calls work()
// until stdin ends. For each line on stdin, it then prints whether work() was called
// since the previous line, and the first byte of work().
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline, noclone))

static const char page_of_its_own[2][4096] __attribute__((aligned(4096))) = {"unread"};
volatile long sink;

NOINLINE long tail(long n)
{
    sink += n;
    return n * 2;
}

NOINLINE long work(long n)
{
    sink += n;
    return n + 1;
}

NOINLINE long many(long a, long b, long c, long d, long e, long f, long g, long h)
{
    sink += a;
    return a + b + c + d + e + f + g + h;
}

NOINLINE void say(const char *text)
{
    sink += text != NULL;
}

// If n is odd, leaves the function by a conditional jump to tail().
long either(long n);
__asm__(".text\n"
        ".globl either\n"
        ".type either, @function\n"
        "either:\n"
        "    test $1, %dil\n"
        "    jne tail\n"
        "    mov $7, %eax\n"
        "    ret\n"
        ".size either, . - either\n");

NOINLINE long outer(long n)
{
    long sum = work(n) + many(1, 2, 3, 4, 5, 6, 7, n) + either(n);
    say(page_of_its_own[0]);
    return sum;
}

static int is_asked(void)
{
    struct pollfd in = {0, POLLIN, 0};
    return poll(&in, 1, 0) > 0;
}

int main(int argc, char **argv)
{
    char line[16];
    long sum = 0, n_calls = 0;
    const long n = argc > 1 ? atol(argv[1]) : 0;
    for (long i = 0; i < n; ++i)
        sum += outer(i);
    if (n != 0)
        printf("sum %ld\n", sum);
    while (n == 0) {
        for (; !is_asked(); ++n_calls)
            sum += work(n_calls);
        if (fgets(line, sizeof(line), stdin) == NULL)
            break;
        printf("%s %02x\n", n_calls > 0 ? "goes on" : "stands",
               *(const unsigned char *)(void *)work);
        fflush(stdout);
        n_calls = 0;
    }
    return 0;
}
